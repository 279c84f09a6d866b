/** Returns a hash of 32 bits (FNV-1a over UTF-16). It must never change: stored progress depends on it. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}

/** Returns a hash from 0 to 2^32 - 1, spread evenly over similar texts (last step of MurmurHash3). */
export function spreadHash(text: string): number {
  const hash = fnv1a(text);
  const first = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return (second ^ (second >>> 16)) >>> 0;
}

/** Returns the lane of a customer's rows. It must never change: another process continues a lane where it stopped. */
export function laneOf(customerId: string, lanes: number): number {
  return lanes === 1 ? 0 : (fnv1a(customerId) >>> 8) % lanes;
}
