"""Text recognised in pictures of pages, in the sandboxed child. Start reading in `recogniser`.

RapidOCR, whose models come in its wheel, finds the lines and reads every script; Tesseract, where it is installed,
reads pages in Latin letters, which it does better and in less time. Nothing is ever downloaded.
"""
