import { useEffect, useState } from 'preact/hooks';

/** Returns an object URL of a PDF. It is revoked when the component is removed. */
export function usePdfAddress(pdf: Uint8Array | undefined): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (pdf === undefined) return undefined;
    const createdUrl = URL.createObjectURL(new Blob([pdf as Uint8Array<ArrayBuffer>], { type: 'application/pdf' })); // the client returns an ArrayBuffer that is not shared
    setAddress(createdUrl);
    return () => URL.revokeObjectURL(createdUrl);
  }, [pdf]);
  return address;
}
