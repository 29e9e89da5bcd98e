// Computes a quantile of the standard normal with the same operations as `random/normal-quantile`, so that results are
// bit-identical.

const LN2_HIGH: f64 = 0.6931471803691238;
const LN2_LOW: f64 = 1.9082149292705877e-10;

export function normalQuantile(p: f64): f64 {
  const q = p - 0.5;
  if (abs(q) <= 0.425) return q * computeCentral(0.180625 - q * q);
  const r = sqrt(-computeNaturalLog(q < 0 ? p : 1 - p));
  const z = r <= 5 ? computeMiddle(r - 1.6) : computeTail(r - 5);
  return q < 0 ? -z : z;
}

/** Computes the natural logarithm of a positive normal number: fdlibm e_log.c. */
function computeNaturalLog(x: f64): f64 {
  const bits = reinterpret<u64>(x);
  const high = <i32>(bits >> 32);
  const shift = ((high & 0xfffff) + 0x95f64) & 0x100000;
  const k = (high >> 20) - 1023 + (shift >> 20);
  const f = reinterpret<f64>((<u64>((high & 0xfffff) | (shift ^ 0x3ff00000)) << 32) | (bits & 0xffffffff)) - 1;
  if (f == 0) return k == 0 ? 0 : <f64>k * LN2_HIGH + <f64>k * LN2_LOW;
  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const even = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373));
  const odd = z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)));
  const half = 0.5 * f * f;
  const correction = s * (half + (even + odd));
  return k == 0 ? f - (half - correction) : <f64>k * LN2_HIGH - (half - (correction + <f64>k * LN2_LOW) - f);
}

function computeCentral(r: f64): f64 {
  return (
    (((((((2509.0809287301227 * r + 33430.57558358813) * r + 67265.7709270087) * r + 45921.95393154987) * r + 13731.69376550946) * r + 1971.5909503065513) * r + 133.14166789178438) * r + 3.3871328727963665) /
    (((((((5226.495278852546 * r + 28729.085735721943) * r + 39307.89580009271) * r + 21213.794301586597) * r + 5394.196021424751) * r + 687.1870074920579) * r + 42.31333070160091) * r + 1)
  );
}

function computeMiddle(r: f64): f64 {
  return (
    (((((((0.0007745450142783414 * r + 0.022723844989269184) * r + 0.2417807251774506) * r + 1.2704582524523684) * r + 3.6478483247632045) * r + 5.769497221460691) * r + 4.630337846156546) * r + 1.4234371107496835) /
    (((((((1.0507500716444169e-09 * r + 0.0005475938084995345) * r + 0.015198666563616457) * r + 0.14810397642748008) * r + 0.6897673349851) * r + 1.6763848301838038) * r + 2.053191626637759) * r + 1)
  );
}

function computeTail(r: f64): f64 {
  return (
    (((((((2.0103343992922881e-07 * r + 2.7115555687434876e-05) * r + 0.0012426609473880784) * r + 0.026532189526576124) * r + 0.29656057182850487) * r + 1.7848265399172913) * r + 5.463784911164114) * r + 6.657904643501103) /
    (((((((2.0442631033899397e-15 * r + 1.421511758316446e-07) * r + 1.8463183175100548e-05) * r + 0.0007868691311456133) * r + 0.014875361290850615) * r + 0.1369298809227358) * r + 0.599832206555888) * r + 1)
  );
}
