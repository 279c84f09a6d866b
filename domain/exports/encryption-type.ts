const MODES = ['CBC', 'CTR', 'GCM'] as const;
const BITS = [128, 192, 256] as const;
export type EncryptionType = { bits: (typeof BITS)[number]; mode: (typeof MODES)[number] };

/** As they are written in docs and messages; callers may write them in any case. */
export const ENCRYPTION_TYPES = MODES.flatMap((mode) => BITS.map((bits) => `AES-${bits}-${mode}`));

/** Returns the cipher that a hyphenated name means, in any case. */
export function parseEncryptionType(name: string): EncryptionType | undefined {
  const [, bits, mode] = /^AES-(128|192|256)-(CBC|CTR|GCM)$/.exec(name.toUpperCase()) ?? [];
  if (bits === undefined) return undefined;
  return { bits: Number(bits) as EncryptionType['bits'], mode: mode as EncryptionType['mode'] };
}
