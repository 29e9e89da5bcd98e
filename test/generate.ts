import { writeFileSync } from 'node:fs';
import { jsonText } from '#views/documentation/json-text.js';
import { clientSources } from './clients/sources.js';
import { guideSources } from './guide/guide-page.js';
import { recordAnswers } from './guide/record-answers.js';
import { withTables } from './guide/tables.js';
import { liveService } from './real/live.js';

/** Writes again what is made from the code and kept with it: `npm run generate`. */
for (const [file, text] of Object.entries(clientSources())) writeFileSync(file, text);
for (const { file, text } of guideSources()) writeFileSync(`data/guide/${file}`, withTables(text));

const service = await liveService();
try {
  writeFileSync('data/answers.json', `${jsonText(await recordAnswers(service))}\n`);
} finally {
  await service.close();
}
