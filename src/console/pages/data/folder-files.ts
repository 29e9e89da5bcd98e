/** Paths of files of dropped folders. For chosen folders, the browser provides the paths. */
const pathsByFile = new WeakMap<File, string>();

/** Returns the path of a file within its folder, or its name. */
export const getPath = (file: File & { readonly webkitRelativePath?: string }): string =>
  pathsByFile.get(file) ?? (file.webkitRelativePath || file.name);

/** Records the path of a file of a dropped folder. */
export function setPath(file: File, path: string): void {
  pathsByFile.set(file, path);
}
