/** Paths of the files in dropped folders. For selected folders, the browser itself provides the paths. */
const pathsByFile = new WeakMap<File, string>();

/** Returns the path of a file within its folder. Without a folder, returns its name. */
export const getPath = (file: File & { readonly webkitRelativePath?: string }): string =>
  pathsByFile.get(file) ?? (file.webkitRelativePath || file.name);

/** Records the path of a file of a dropped folder. */
export function setPath(file: File, path: string): void {
  pathsByFile.set(file, path);
}
