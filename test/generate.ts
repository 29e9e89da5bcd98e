import { writeFileSync } from 'node:fs';
import { readGuideSources } from './guide/guide-page.js';
import { addTables } from './guide/tables.js';

/** Writes the tables of the guide that are generated from code: `npm run generate`. */
for (const { file, text } of readGuideSources()) writeFileSync(`data/guide/${file}`, addTables(text));
