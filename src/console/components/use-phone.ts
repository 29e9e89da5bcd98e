import { useEffect, useState } from 'preact/hooks';

/** Width of a phone, equal to that of the narrowest layout in the style sheets. */
const phone = matchMedia('(width < 480px)');

/** Returns true while the window is as narrow as a phone. */
export function usePhone(): boolean {
  const [isPhone, setPhone] = useState(phone.matches);
  useEffect(() => {
    const follow = () => setPhone(phone.matches);
    follow();
    phone.addEventListener('change', follow);
    return () => phone.removeEventListener('change', follow);
  }, []);
  return isPhone;
}
