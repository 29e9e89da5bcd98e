import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Control group of one reading process. */
export interface ReaderGroup {
  readonly folder: string;
  /** Removes the group; called after its process has ended. */
  close(): void;
}

/** Control groups below a group that the service may manage. */
export interface ReaderGroups {
  open(): ReaderGroup;
}

const PREFIX = 'divisor-reader-';
const CONTROLLERS = 'cgroup.subtree_control';

/** Shell command that enters the control group with the folder `$1`. */
export const ENTER_GROUP = 'echo $$ > "$1/cgroup.procs" && shift';

/**
 * Prepares a cgroup v2 for groups of processes. Each group limits all memory of its process: private memory, memory
 * shared with the service, and cached files.
 * @throws Error if the folder is not a control group, or is not delegated to the service
 */
export function openReaderGroups(parent: string, bytes: number, shell: string): ReaderGroups {
  const controllers = readFileSync(join(parent, CONTROLLERS), 'utf8').split(/\s+/);
  if (!controllers.includes('memory')) writeFileSync(join(parent, CONTROLLERS), '+memory');
  for (const name of readdirSync(parent)) if (name.startsWith(PREFIX)) remove(join(parent, name));
  let groupCount = 0;

  function openGroup(): ReaderGroup {
    const folder = join(parent, `${PREFIX}${process.pid}-${(groupCount += 1)}`);
    mkdirSync(folder);
    try {
      writeFileSync(join(folder, 'memory.max'), String(bytes));
    } catch (failure) {
      remove(folder);
      throw failure;
    }
    return { folder, close: () => remove(folder) };
  }

  const group = openGroup();
  const { status, error } = spawnSync(shell, ['-c', ENTER_GROUP, shell, group.folder], { stdio: 'ignore' });
  group.close();
  if (status !== 0) throw error ?? new Error(`no process may enter a group of ${parent}`);
  return { open: openGroup };
}

/** Removes a group. A group that still has processes remains until the next start. */
function remove(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (failure) {
    const { code = '' } = failure as NodeJS.ErrnoException;
    if (!['EBUSY', 'ENOENT', 'ENOTEMPTY'].includes(code)) throw failure;
  }
}
