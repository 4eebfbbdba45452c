"""The rules for personal data: what reaches, pays for, locates or numbers a person.

Numbers without a shape of their own count only where a word before them says what they are: every tenth number of
eleven digits has the right check digit by chance.
"""

from __future__ import annotations

from recollect.domain.scanning import checks, context
from recollect.domain.scanning.context import after_words, alone
from recollect.domain.scanning.rules import Check, Class, Confidence, Rule, when


def _certain(kind: str, pattern: str, check: Check | None = None) -> Rule:
    return Rule(kind, Class.PII, Confidence.CERTAIN, pattern, check)


def _likely(kind: str, pattern: str, check: Check | None = None) -> Rule:
    return Rule(kind, Class.PII, Confidence.LIKELY, pattern, check)


_SEPARATED = r"\d{3}[ .-]?\d{3}[ .-]?\d{3}"
_PHONE_WORDS = r"(?:phone|mobile|cell|tel|telephone|call|fax|whatsapp|sms|text|handy|reach|dial|number)"
_STREETS = (
    r"Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Terrace|Crescent|Close|Parkway|Pkwy|Highway"
)
_REACHING = (
    _certain("email", r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,6}[A-Za-z]{2,24}\b"),
    _likely("phone", r"(?:\+[1-9]\d{0,2}|\b00[1-9]\d{0,2}[ ./-])(?:[ .-]?\(?\d{1,5}\)?){2,7}", context.phone),
    _likely("phone", r"(?:\(\d{3}\) ?|\b\d{3}[-.])\d{3}[-.]\d{4}\b", context.phone),
    _likely(
        "phone",
        rf"(?i:\b{_PHONE_WORDS}\b[^\n\d]{{0,24}})(\d{{2,5}}[ ./-]\d{{2,5}}(?:[ ./-]?\d{{2,5}}){{0,3}}|0\d{{8,12}})",
        context.phone,
    ),
)
_PAYING = (
    _certain(
        "credit_card",
        r"\b(?:\d{13,19}|\d{4} \d{4} \d{4} \d{4}|\d{4}-\d{4}-\d{4}-\d{4}|\d{4} \d{6} \d{4,5}|\d{4}-\d{6}-\d{4,5})\b",
        alone(checks.is_payment_card),
    ),
    _certain("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,9}", context.iban),
)
_LOCATING = (
    _likely("ip_address", r"\b\d{1,3}(?:\.\d{1,3}){3}\b", context.address_of_host),
    _certain("ip_address", r"(?:[0-9A-Fa-f]{1,4}:){2,7}(?::?[0-9A-Fa-f]{1,4})+", context.address_of_host),
    _likely("mac_address", r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b", alone(lambda _: True)),
    _likely("street_address", rf"\b\d{{1,5}}[A-Za-z]? (?:[NSEW]\.? )?(?:[A-Z][a-z]{{2,20}} ){{1,3}}(?:{_STREETS})\b"),
    _likely("street_address", r"\b[A-Z][a-z?]{2,30}(?:stra(?:ss|\?)e|str\.) \d{1,4} ?[a-z]?\b"),
    _likely(
        "street_address",
        r"\b\d{1,4},? (?:rue|avenue|boulevard|place|chemin) (?:de |du |des |la |l')*[A-Z][a-z?-]{2,30}",
    ),
)
_NUMBERING = (
    _likely("us_ssn", r"\b\d{3}-\d{2}-\d{4}\b", alone(checks.is_us_ssn)),
    _likely("us_ssn", r"\b\d{9}\b", after_words("ssn|social security(?: number)?", checks.is_us_ssn)),
    _certain("uk_nhs_number", r"\b\d{3}[ -]?\d{3}[ -]?\d{4}\b", after_words("nhs", checks.is_uk_nhs)),
    _likely("uk_national_insurance", r"\b[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b"),
    _certain(
        "de_tax_id",
        r"\b[1-9]\d ?\d{3} ?\d{3} ?\d{3}\b",
        after_words("steuer-?id(?:entifikationsnummer)?|tax id|idnr|tin|steuernummer", checks.is_de_tax_id),
    ),
    _certain(
        "fr_social_security",
        r"\b[12] ?\d{2} ?\d{2} ?(?:\d{2}|2[AB]) ?\d{3} ?\d{3} ?\d{2}\b",
        alone(checks.is_fr_nir),
    ),
    _certain("es_dni", r"\b(?:\d{8}|[XYZ]\d{7})-?[A-Z]\b", alone(checks.is_es_dni)),
    _certain("it_fiscal_code", r"\b[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]\b", when(checks.is_it_fiscal_code)),
    _certain("nl_bsn", rf"\b{_SEPARATED}\b", after_words("bsn|burgerservicenummer|sofinummer", checks.is_nl_bsn)),
    _certain("be_national_number", r"\b\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}\b", alone(checks.is_be_number)),
    _certain("pl_pesel", r"\b\d{11}\b", after_words("pesel", checks.is_pl_pesel)),
    _certain("se_personnummer", r"\b(?:\d{2})?\d{6}[-+]\d{4}\b", alone(checks.is_se_number)),
    _certain("fi_hetu", r"\b\d{6}[-+A-FU-Y]\d{3}[0-9A-FHJ-NPR-Y]\b", alone(checks.is_fi_hetu)),
    _certain("br_cpf", r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b", alone(checks.is_br_cpf)),
    _certain("br_cpf", r"\b\d{11}\b", after_words("cpf", checks.is_br_cpf)),
    _certain(
        "ca_sin",
        r"\b\d{3}[ -]?\d{3}[ -]?\d{3}\b",
        after_words("sin|social insurance(?: number)?", lambda text: checks.luhn(text)),
    ),
    _certain("au_tfn", r"\b\d{3} ?\d{3} ?\d{3}\b", after_words("tfn|tax file(?: number)?", checks.is_au_tfn)),
    _certain("in_aadhaar", r"\b[2-9]\d{3} \d{4} \d{4}\b", alone(checks.verhoeff)),
    _certain("in_aadhaar", r"\b[2-9]\d{11}\b", after_words("aadhaar|aadhar|uidai", checks.verhoeff)),
    _certain("cn_resident_id", r"\b[1-9]\d{5}(?:19|20)\d{2}[01]\d[0-3]\d\d{3}[0-9Xx]\b", alone(checks.is_cn_id)),
    _certain("ch_ahv_number", r"\b756\.?\d{4}\.?\d{4}\.?\d{2}\b", alone(checks.is_ch_ahv)),
    _likely(
        "passport_number",
        r"(?i:\bpassport(?: (?:number|no\.?|nr\.?))?(?: is|:)? {0,2})([A-Z]{0,2}\d{6,9})\b",
        alone(lambda _: True),
    ),
)
PERSONAL_RULES: tuple[Rule, ...] = (*_REACHING, *_PAYING, *_LOCATING, *_NUMBERING)
