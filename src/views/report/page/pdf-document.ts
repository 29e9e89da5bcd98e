import Pdf from 'pdfkit';
import type { FontSet } from '../text/typesetter.js';

export interface PdfIdentity {
  readonly title: string;
  /** Names the moment of the rendering in the file: identifier and creation date follow from it. */
  readonly renderedAt: Date;
}

/** A tagged document without pages: PDF 1.7 that declares PDF/UA-1. */
export function createPdf({ title, renderedAt }: PdfIdentity): PDFKit.PDFDocument {
  return new ReportPdf({
    pdfVersion: '1.7',
    tagged: true,
    // pdfkit 0.20 takes it, its types do not.
    subset: 'PDF/UA' as PDFKit.Mixins.PDFSubsets,
    lang: 'en',
    displayTitle: true,
    autoFirstPage: false,
    font: '',
    info: { Title: title, Producer: 'Divisor', Creator: 'Divisor', CreationDate: renderedAt },
  });
}

class ReportPdf extends Pdf {
  /**
   * pdfkit 0.20 copies the title into the XML metadata as it is. The other place of the title is written before this is
   * called.
   */
  override endMetadata(): void {
    this.info.Title = (this.info.Title ?? '').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    super.endMetadata();
  }
}

/** Ends a document. @returns its bytes: pdfkit writes them as it goes, so that all of them lie ready to be read */
export function endPdf(pdf: PDFKit.PDFDocument): Uint8Array<ArrayBuffer> {
  pdf.end();
  const bytes: unknown = pdf.read();
  if (!(bytes instanceof Uint8Array)) throw new Error('the document has no bytes');
  return new Uint8Array(bytes);
}

/** The font that pdfkit opened last, of which its types do not tell. */
interface OpenedFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } };
}

/** Size at which text is measured, to be scaled. */
const MEASURE_SIZE = 1;

export function fontSetOf(pdf: PDFKit.PDFDocument): FontSet {
  return {
    register: (name, bytes) => void pdf.registerFont(name, bytes),
    covers: (name, codePoint) => (pdf.font(name) as unknown as OpenedFont)._font.font.hasGlyphForCodePoint(codePoint),
    measure: (name, text) => pdf.font(name).fontSize(MEASURE_SIZE).widthOfString(text),
  };
}
