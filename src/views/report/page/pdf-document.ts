import Pdf from 'pdfkit';
import type { FontName } from '../text/fonts.js';
import type { FontSet } from '../text/typesetter.js';

export interface PdfIdentity {
  readonly title: string;
  /** Name and version of the program. */
  readonly creator: string;
  /** Time of rendering. The identifier and the creation date of the file are derived from it. */
  readonly renderedAt: Date;
}

/** Creates a tagged PDF 1.7 document. It has no pages yet and declares PDF/UA-1. */
export function createPdf({ title, creator, renderedAt }: PdfIdentity): PDFKit.PDFDocument {
  return new ReportPdf({
    pdfVersion: '1.7',
    tagged: true,
    // pdfkit 0.20 supports this, but its types lack it.
    subset: 'PDF/UA' as PDFKit.Mixins.PDFSubsets,
    lang: 'en',
    displayTitle: true,
    autoFirstPage: false,
    font: '',
    info: { Title: title, Producer: 'Divisor', Creator: creator, CreationDate: renderedAt },
  });
}

class ReportPdf extends Pdf {
  /**
   * Escapes the title, because pdfkit 0.20 copies it to the XMP metadata without escaping. The title in the document
   * information dictionary has already been written at this point.
   */
  override endMetadata(): void {
    this.info.Title = (this.info.Title ?? '').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    super.endMetadata();
  }
}

/**
 * Ends a document.
 * @returns the bytes of the document, which pdfkit has buffered
 */
export function endPdf(pdf: PDFKit.PDFDocument): Uint8Array<ArrayBuffer> {
  pdf.end();
  const bytes: unknown = pdf.read();
  if (!(bytes instanceof Uint8Array)) throw new Error('the document has no bytes');
  return new Uint8Array(bytes);
}

/**
 * Font that pdfkit opened last. It is a fontkit object with the tables that were decoded so far, by name. The types of
 * pdfkit lack it.
 */
interface OpenedFont {
  readonly _font: {
    readonly font: { hasGlyphForCodePoint(codePoint: number): boolean; _tables: Readonly<Record<string, unknown>> };
    /** Adds the glyphs of a text to the file. */
    encode(text: string): unknown;
  };
}

/** Font size at which text is measured. Widths are then scaled to other sizes. */
const MEASURE_SIZE = 1;

/**
 * Decoded font tables by the bytes of their font. All documents share them; to decode them again would take a fifth of
 * the time of a document. Glyphs are not shared, because a glyph stores the text of its first use.
 */
const DECODED_TABLES = new WeakMap<Uint8Array, Readonly<Record<string, unknown>>>();

/**
 * Characters that are always embedded. Otherwise the embedded font would depend on the time in the stamp of the report.
 */
const DIGITS = '0123456789';

export function createFontSet(pdf: PDFKit.PDFDocument): FontSet {
  const fontFiles = new Map<FontName, Uint8Array>();
  function open(name: FontName): OpenedFont['_font']['font'] {
    const openedFont = (pdf.font(name) as unknown as OpenedFont)._font;
    const { font } = openedFont;
    const bytes = fontFiles.get(name);
    if (bytes === undefined) return font;
    fontFiles.delete(name);
    const decodedTables = DECODED_TABLES.get(bytes);
    if (decodedTables === undefined) DECODED_TABLES.set(bytes, font._tables);
    else font._tables = decodedTables;
    if (name === 'regular' || name === 'bold') openedFont.encode(DIGITS);
    return font;
  }
  return {
    register(name, bytes) {
      pdf.registerFont(name, bytes);
      fontFiles.set(name, bytes);
    },
    covers: (name, codePoint) => open(name).hasGlyphForCodePoint(codePoint),
    measure(name, text) {
      open(name);
      return pdf.fontSize(MEASURE_SIZE).widthOfString(text);
    },
  };
}
