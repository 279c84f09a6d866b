/** A hash of 32 bits (Fowler, Noll and Vo's FNV-1a over UTF-16), negative for half of all texts. It never changes: work goes on by it. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
