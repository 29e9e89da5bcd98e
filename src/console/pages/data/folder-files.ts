/** Paths of files that were dropped with their folder; the browser knows those of a chosen folder. */
const paths = new WeakMap<File, string>();

/** Returns the path of a file from its folder on, or its name. */
export const pathOf = (file: File & { readonly webkitRelativePath?: string }): string =>
  paths.get(file) ?? (file.webkitRelativePath || file.name);

/** Notes the path of a file of a dropped folder. */
export function notePath(file: File, path: string): void {
  paths.set(file, path);
}
