"""What a PDF says: its text by pypdf, page by page."""

import io
import re

__all__ = ["page_texts", "paper_text", "squeezed"]


def page_texts(data: bytes) -> list[str]:
    """Return the text of each page, in the order of pages."""
    from pypdf import PdfReader

    return [page.extract_text() for page in PdfReader(io.BytesIO(data), strict=True).pages]


def paper_text(data: bytes) -> str:
    """Return the text of all pages."""
    return "\n".join(page_texts(data))


def squeezed(text: str) -> str:
    """Return a text without white space, soft hyphens, places to break at and underlines: none is part of what is said."""
    return re.sub(r"[\s_\u00ad\u200b]+", "", text)
