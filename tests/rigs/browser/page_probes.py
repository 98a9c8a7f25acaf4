"""Scripts that see a page as its readers do; each is an expression with a JSON value."""

from __future__ import annotations

OVERFLOW = """(() => {
  const wide = document.documentElement.clientWidth, over = [];
  for (const each of document.body.querySelectorAll("*")) {
    const box = each.getBoundingClientRect();
    const inside = ".unseen, .skip, thead, svg, details:not([open]) > table, .scroll > *";
    const unseen = each.closest(inside);
    const panel = each.closest("section"), right = panel?.getBoundingClientRect().right ?? wide;
    const sticksOut = box.width > 0 && box.right > Math.min(wide, right) + 1;
    if (sticksOut && !unseen) over.push(each.outerHTML.slice(0, 90));
  }
  return {scrolls: document.documentElement.scrollWidth - wide, over: over.slice(0, 5)};
})()"""
"""How far one could scroll sideways, and what sticks out of the window or of its panel."""

FAINT = """(() => {
  const scratch = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colour, below) => {
    scratch.fillStyle = `rgb(${below})`; scratch.fillRect(0, 0, 1, 1);
    scratch.fillStyle = colour; scratch.fillRect(0, 0, 1, 1);
    return [...scratch.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const behind = element => {
    const papers = [];
    for (let each = element; each; each = each.parentElement)
      papers.unshift(getComputedStyle(each).backgroundColor);
    return papers.reduce((below, paper) => over(paper, below), [255, 255, 255]);
  };
  const linear = share => share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  const light = colour => [0.2126, 0.7152, 0.0722].reduce(
    (sum, weight, place) => sum + weight * linear(colour[place] / 255), 0);
  const faint = [];
  let looked = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement, unseen = "script, style, .unseen, .skip, title, desc";
    if (!node.data.trim() || element.closest(unseen)) continue;
    if (!element.checkVisibility() || element.getBoundingClientRect().width === 0) continue;
    const style = getComputedStyle(element), paper = behind(element);
    const ink = over(element instanceof SVGElement ? style.fill : style.color, paper);
    const [high, low] = [light(ink), light(paper)].sort((one, other) => other - one);
    const ratio = (high + 0.05) / (low + 0.05), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    looked += 1;
    if (ratio < (large ? 3 : 4.5))
      faint.push(`${ratio.toFixed(2)} ${node.data.trim().slice(0, 40)} (${element.className})`);
  }
  return {looked, faint: [...new Set(faint)].slice(0, 10)};
})()"""
"""Texts whose contrast with their background is below WCAG's AA, and the number of all texts."""

OUTSIDE = """[...document.querySelectorAll("svg[role=img] text")].filter(text => {
  const inside = text.closest("svg").getBoundingClientRect(), own = text.getBoundingClientRect();
  const across = own.left < inside.left - 1 || own.right > inside.right + 1;
  return own.width > 0 && (across || own.bottom > inside.bottom + 1);
}).map(text => text.textContent)"""
"""Labels of plots that stick out of them."""

SMALL = """[...document.querySelectorAll("button, input, select, summary, nav a")].filter(each => {
  const box = each.getBoundingClientRect();
  return box.width > 0 && (box.height < 20 || box.width < 20);
}).map(each => each.outerHTML.slice(0, 90))"""
"""Elements that are too small for a finger."""

FOCUS = """(() => {
  const each = document.activeElement, style = getComputedStyle(each);
  return {
    words: (each.textContent || each.name || each.id).trim().slice(0, 40), tag: each.tagName,
    outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    seen: each.getBoundingClientRect().left >= 0,
  };
})()"""
"""Where the keyboard is."""

ROWS = """[...document.querySelectorAll("table.tasks tbody tr")].map(
  row => row.querySelector("th a").textContent)"""
"""The names of the tasks that are listed."""
