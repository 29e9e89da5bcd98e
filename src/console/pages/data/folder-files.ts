/** Paths of files of dropped folders. For chosen folders, the browser provides the paths. */
const paths = new WeakMap<File, string>();

/** Returns the path of a file within its folder, or its name. */
export const pathOf = (file: File & { readonly webkitRelativePath?: string }): string =>
  paths.get(file) ?? (file.webkitRelativePath || file.name);

/** Records the path of a file of a dropped folder. */
export function notePath(file: File, path: string): void {
  paths.set(file, path);
}
