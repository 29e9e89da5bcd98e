import { DATES_WORDS } from './glossary/dates.js';
import { DOCUMENTS_WORDS } from './glossary/documents.js';
import { PRICING_WORDS } from './glossary/pricing.js';
import { RUNS_WORDS } from './glossary/runs.js';
import { SERVICE_WORDS } from './glossary/service.js';
import { STUDIES_WORDS } from './glossary/studies.js';

/**
 * Meanings of fields that their schemas do not describe: a name has the same meaning everywhere. `Schema.field` takes
 * precedence over `field`, for a schema in which the name has another meaning.
 */
export const GLOSSARY: Readonly<Record<string, string>> = {
  ...DOCUMENTS_WORDS,
  ...DATES_WORDS,
  ...RUNS_WORDS,
  ...PRICING_WORDS,
  ...SERVICE_WORDS,
  ...STUDIES_WORDS,
};
