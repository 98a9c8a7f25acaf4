"""What cert-manager is asked for: a certificate whose renewal the API server trusts at once."""

from __future__ import annotations

from typing import Any

from deploy.chart.rendering import NAME

from tests.chart.helm import Document, Helm, named

ADMISSION = f"{NAME}-admission"


def asked_of_cert_manager(helm: Helm, **values: Any) -> list[Document]:
    documents = helm.render({"certificates": {"mode": "cert-manager", "certManager": values}})
    return [each for each in documents if each["kind"] in ("Issuer", "Certificate")]


def test_the_default_authority_outlasts_the_certificates_that_it_signs(helm: Helm) -> None:
    asked = asked_of_cert_manager(helm)
    leaf = named(asked, "Certificate", ADMISSION)["spec"]
    assert "isCA" not in leaf
    issuer = named(asked, "Issuer", leaf["issuerRef"]["name"])["spec"]
    authority = named(asked, "Certificate", f"{ADMISSION}-ca")["spec"]
    assert issuer == {"ca": {"secretName": authority["secretName"]}}
    assert authority["secretName"] != leaf["secretName"], "admission's pods would have its key"
    # With the same key, a renewed authority vouches for what the old one signed.
    assert (authority["isCA"], authority["privateKey"]["rotationPolicy"]) == (True, "Never")
    assert _hours(authority) > 10 * _hours(leaf)
    root = named(asked, "Issuer", authority["issuerRef"]["name"])["spec"]
    assert root == {"selfSigned": {}}


def test_an_issuer_of_peoples_own_is_the_only_one(helm: Helm) -> None:
    asked = asked_of_cert_manager(helm, issuerName="ours", issuerKind="ClusterIssuer")
    (leaf,) = asked
    assert (leaf["spec"]["issuerRef"]["kind"], leaf["spec"]["issuerRef"]["name"]) == (
        "ClusterIssuer",
        "ours",
    )


def _hours(certificate: Document) -> int:
    return int(certificate["duration"].removesuffix("h"))
