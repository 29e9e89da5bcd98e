import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../usage-error.js';

/**
 * Converts an Arrow or Feather file, or an Arrow stream, to Parquet. @throws UsageError if its format is not supported
 */
export async function convertArrowToParquet(path: string): Promise<Buffer> {
  const [{ isUnreadCompression }, { writeArrowAsParquet }, { createProblems }] = await Promise.all([
    import('#market/formats/arrow-compression.js'),
    import('#market/formats/arrow-to-parquet.js'),
    import('#market/tables/problems.js'),
  ]);
  if (isUnreadCompression(path))
    throw new UsageError(
      `${path} is compressed by ZSTD; Arrow files must be uncompressed or compressed by LZ4, or convert to Parquet`,
    );
  const folder = await mkdtemp(join(tmpdir(), 'divisor-arrow-'));
  try {
    const problems = createProblems();
    const to = join(folder, 'market.parquet');
    if (!(await writeArrowAsParquet(path, to, 'market', problems)))
      throw new UsageError(
        `${path}: ${problems
          .findings()
          .map(({ message }) => message)
          .join(' ')}`,
      );
    return await readFile(to);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
