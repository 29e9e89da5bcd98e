import { DATE_FIELD_DESCRIPTIONS } from './glossary/dates.js';
import { DOCUMENT_FIELD_DESCRIPTIONS } from './glossary/documents.js';
import { PRICING_FIELD_DESCRIPTIONS } from './glossary/pricing.js';
import { RUN_FIELD_DESCRIPTIONS } from './glossary/runs.js';
import { SERVICE_FIELD_DESCRIPTIONS } from './glossary/service.js';
import { STUDY_FIELD_DESCRIPTIONS } from './glossary/studies.js';

/**
 * Descriptions of fields whose schema has no description. An entry `field` applies to all schemas with this field. An
 * entry `Schema.field` overrides it, also in the inline objects of the schema.
 */
export const GLOSSARY: Readonly<Record<string, string>> = {
  ...DOCUMENT_FIELD_DESCRIPTIONS,
  ...DATE_FIELD_DESCRIPTIONS,
  ...RUN_FIELD_DESCRIPTIONS,
  ...PRICING_FIELD_DESCRIPTIONS,
  ...SERVICE_FIELD_DESCRIPTIONS,
  ...STUDY_FIELD_DESCRIPTIONS,
};
