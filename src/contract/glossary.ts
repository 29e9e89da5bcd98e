import { DATES_WORDS } from './glossary/dates.js';
import { DOCUMENTS_WORDS } from './glossary/documents.js';
import { PRICING_WORDS } from './glossary/pricing.js';
import { RUNS_WORDS } from './glossary/runs.js';
import { SERVICE_WORDS } from './glossary/service.js';
import { STUDIES_WORDS } from './glossary/studies.js';

/**
 * The meaning of a field wherever it stands, for schemas that do not describe it themselves: one word is one idea
 * everywhere. `Schema.field` goes before `field`, where a schema gives the word a separate meaning.
 */
export const GLOSSARY: Readonly<Record<string, string>> = {
  ...DOCUMENTS_WORDS,
  ...DATES_WORDS,
  ...RUNS_WORDS,
  ...PRICING_WORDS,
  ...SERVICE_WORDS,
  ...STUDIES_WORDS,
};
