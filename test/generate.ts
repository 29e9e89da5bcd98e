import { readFileSync, writeFileSync } from 'node:fs';
import { formatJson } from '#views/documentation/reference.js';
import { generateClientSources } from './clients/sources.js';
import { readGuideSources } from './guide/guide-page.js';
import { openStoryService } from './guide/example-story.js';
import { recordAnswers } from './guide/record-answers.js';
import { selectStableAnswers } from './guide/stable-answers.js';
import { addTables } from './guide/tables.js';

/** Writes the committed files that are generated from code: `npm run generate`. */
for (const [file, text] of Object.entries(generateClientSources())) writeFileSync(file, text);
for (const { file, text } of readGuideSources()) writeFileSync(`data/guide/${file}`, addTables(text));

const ANSWERS = 'data/answers.json';
const service = await openStoryService();
try {
  const storedAnswers = JSON.parse(readFileSync(ANSWERS, 'utf8')) as Record<string, unknown>;
  writeFileSync(ANSWERS, `${formatJson(selectStableAnswers(storedAnswers, await recordAnswers(service)))}\n`);
} finally {
  await service.close();
}
