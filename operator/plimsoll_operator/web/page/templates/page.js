// Search while one types. Without this, the form's button does the same.
(() => {
  const form = document.querySelector("form.find");
  let turn = 0, timer = 0;
  const show = async () => {
    const mine = ++turn;
    const asked = [...new FormData(form)].filter(([, value]) => value !== "");
    const address = "?" + new URLSearchParams(asked);
    try {
      const answer = await fetch(address);
      if (!answer.ok || mine !== turn) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== turn) return;
      document.getElementById("tasks").replaceWith(page.getElementById("tasks"));
      document.getElementById("found").textContent = page.getElementById("found").textContent;
      document.title = page.title;
      history.replaceState(null, "", address);
    } catch { /* Away: the button shows what is wrong. */ }
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, 200); });
})();
