import { useEffect, useState } from 'preact/hooks';

/** Width of a phone. The narrowest layout in the style sheets has the same limit. */
const phoneMedia = matchMedia('(width < 480px)');

/** Returns true while the window is as narrow as a phone. */
export function usePhone(): boolean {
  const [isPhone, setPhone] = useState(phoneMedia.matches);
  useEffect(() => {
    const follow = () => setPhone(phoneMedia.matches);
    follow();
    phoneMedia.addEventListener('change', follow);
    return () => phoneMedia.removeEventListener('change', follow);
  }, []);
  return isPhone;
}
