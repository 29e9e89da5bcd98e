// Records the response to the example of every operation, for the OpenAPI document and its reference: dist/answers.json.
// A service on a new home runs all examples; their outcomes are for the tests of the examples.
import { writeFileSync } from 'node:fs';
import { openStoryService } from '../dist/test/guide/example-story.js';
import { recordStory } from '../dist/test/guide/record-answers.js';

const service = await openStoryService();
try {
  const { answers, ...outcomes } = await recordStory(service);
  for (const [file, value] of Object.entries({ 'answers.json': answers, '.build/examples.json': outcomes }))
    writeFileSync(new URL(`../dist/${file}`, import.meta.url), `${JSON.stringify(value, null, 1)}\n`);
} finally {
  await service.close();
}
