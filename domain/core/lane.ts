/** Which lane a customer's rows go by: the same at all times (FNV-1a), as a lane goes on where it stopped under another process. */
export function laneOf(customerId: string, lanes: number): number {
  if (lanes === 1) return 0;
  let hash = 0x811c9dc5;
  for (let at = 0; at < customerId.length; at += 1) hash = Math.imul(hash ^ customerId.charCodeAt(at), 0x01000193);
  return (hash >>> 8) % lanes;
}
