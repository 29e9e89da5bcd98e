import { DATES_WORDS } from './glossary/dates.js';
import { DOCUMENTS_WORDS } from './glossary/documents.js';
import { PRICING_WORDS } from './glossary/pricing.js';
import { RUNS_WORDS } from './glossary/runs.js';
import { SERVICE_FIELD_DESCRIPTIONS } from './glossary/service.js';
import { STUDIES_WORDS } from './glossary/studies.js';

/**
 * Descriptions of fields that have no description in their schema. A name has the same meaning in all schemas, unless
 * the entry `Schema.field` overrides the entry `field`.
 */
export const GLOSSARY: Readonly<Record<string, string>> = {
  ...DOCUMENTS_WORDS,
  ...DATES_WORDS,
  ...RUNS_WORDS,
  ...PRICING_WORDS,
  ...SERVICE_FIELD_DESCRIPTIONS,
  ...STUDIES_WORDS,
};
