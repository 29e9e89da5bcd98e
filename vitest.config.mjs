import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    dir: 'dist/test',
    include: ['**/*.test.js'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
