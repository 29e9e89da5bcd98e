import type { ReportTemplateCollection, SavedReportTemplate } from '#contract/reports.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { BUILT_IN_IDS, createBuiltInTemplate, isBuiltIn } from '#domain/reports/built-in.js';
import type { ReportTemplateDocument } from '#domain/reports/template-document.js';
import { readTemplate, validateTemplate } from '#domain/reports/validate-template.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { assertIdOfPath } from '../shared/document-ids.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';

export interface StoredTemplate {
  readonly template: ReportTemplateDocument;
  readonly etag: string | undefined;
}

/** Report templates, both built-in and stored. */
export interface ReportTemplates {
  listTemplates(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<ReportTemplateCollection>;
  /**
   * Returns a template. A built-in template has no etag, because it changes only when the engine changes.
   * @throws Refusal TEMPLATE_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  getTemplate(templateId: string): Promise<StoredTemplate>;
  /** Creates or replaces a template. @throws Refusal TEMPLATE_BUILT_IN, ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  putTemplate(
    templateId: string,
    body: Readonly<Record<string, unknown>>,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<{ readonly saved: SavedReportTemplate; readonly etag: string }>;
  /** Deletes a template. @throws Refusal TEMPLATE_BUILT_IN, TEMPLATE_NOT_FOUND, PRECONDITION_FAILED */
  removeTemplate(templateId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

export function createReportTemplates(documents: DocumentStore): ReportTemplates {
  async function requireTemplate(templateId: string): Promise<StoredTemplate> {
    if (isBuiltIn(templateId)) return { template: createBuiltInTemplate(templateId), etag: undefined };
    const storedDocument = await documents.get('template', templateId);
    if (storedDocument === undefined) throw refuseMissingTemplate(templateId);
    const template = readStored(storedDocument, readTemplate);
    if (template === undefined || 'unreadable' in storedDocument)
      throw new Refusal(
        'DOCUMENT_UNREADABLE',
        `The report template ${templateId} cannot be read; it can still be deleted.`,
      );
    return { template, etag: storedDocument.etag };
  }

  return {
    async listTemplates({ limit, after }) {
      const { documents: templates, skipped, skipped_causes } = await documents.list('template', readTemplate);
      const remainingTemplates =
        after === undefined ? templates : templates.filter(({ template_id }) => template_id > after);
      return {
        templates: remainingTemplates.slice(0, limit ?? remainingTemplates.length),
        built_in: [...BUILT_IN_IDS],
        skipped,
        skipped_causes: { ...skipped_causes },
      };
    },

    getTemplate: requireTemplate,

    async putTemplate(templateId, body, ifMatch, authorship) {
      assertEditable(templateId);
      assertIdOfPath(templateId, body, 'template_id');
      const { document, findings } = validateTemplate(body);
      if (document === undefined) throw refuseWithFindings('report template', findings);
      const write = async (tx: DocumentTransaction): Promise<string> => {
        await assertPrecondition(tx, 'template', templateId, ifMatch);
        return tx.put('template', templateId, document);
      };
      const etag = await documents.transaction(write, { by: authorship });
      // findings are read-only lists in the service and mutable lists in the contract
      return { saved: (findings.length === 0 ? document : { ...document, findings }) as SavedReportTemplate, etag };
    },

    async removeTemplate(templateId, ifMatch, authorship) {
      assertEditable(templateId);
      const deleteTemplate = async (tx: DocumentTransaction): Promise<void> => {
        if ((await tx.get('template', templateId)) === undefined) throw refuseMissingTemplate(templateId);
        await assertPrecondition(tx, 'template', templateId, ifMatch);
        await tx.delete('template', templateId);
      };
      await documents.transaction(deleteTemplate, { by: authorship });
    },
  };
}

/** Refuses to change a built-in template. @throws Refusal TEMPLATE_BUILT_IN */
export function assertEditable(templateId: string): void {
  if (isBuiltIn(templateId))
    throw new Refusal('TEMPLATE_BUILT_IN', `The template ${templateId} is built in: it can be rendered, not changed.`, {
      template_id: templateId,
    });
}

function refuseMissingTemplate(templateId: string): Refusal {
  return new Refusal('TEMPLATE_NOT_FOUND', `No report template is stored under the id ${templateId}.`, {
    template_id: templateId,
  });
}
