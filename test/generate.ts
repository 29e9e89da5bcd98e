import { readFileSync, writeFileSync } from 'node:fs';
import { formatJson } from '#views/documentation/json-text.js';
import { clientSources } from './clients/sources.js';
import { guideSources } from './guide/guide-page.js';
import { storyService } from './guide/example-story.js';
import { recordAnswers } from './guide/record-answers.js';
import { stableAnswers } from './guide/stable-answers.js';
import { addTables } from './guide/tables.js';

/** Writes the committed files that are generated from code: `npm run generate`. */
for (const [file, text] of Object.entries(clientSources())) writeFileSync(file, text);
for (const { file, text } of guideSources()) writeFileSync(`data/guide/${file}`, addTables(text));

const ANSWERS = 'data/answers.json';
const service = await storyService();
try {
  const stored = JSON.parse(readFileSync(ANSWERS, 'utf8')) as Record<string, unknown>;
  writeFileSync(ANSWERS, `${formatJson(stableAnswers(stored, await recordAnswers(service)))}\n`);
} finally {
  await service.close();
}
