/** Encrypts exported files with AES (GCM, CBC or CTR), and decrypts them. */
import {
  type CipherGCM,
  type CipherGCMTypes,
  createCipheriv,
  createDecipheriv,
  type DecipherGCM,
  type Decipheriv,
  randomBytes,
} from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import { Refusal, refuse } from '../core/refusal.ts';
import { ENCRYPTION_TYPES, type EncryptionType, parseEncryptionType } from './encryption-type.ts';

const BLOCK_BYTES = 16;
const TAG_BYTES = 16;
const HEX = /^[0-9a-f]*$/i;

/** Returns the error of a key or its type, undefined if the key fits. Never quotes the key. */
export function encryptionKeyError(type: string, key: string): string | undefined {
  const parsed = parseEncryptionType(type);
  if (!parsed) return `the encryption type is one of ${ENCRYPTION_TYPES.join(', ')}`;
  if (keyBytes(parsed, key)) return undefined;
  const bytes = parsed.bits / 8;
  const wanted = `a key of exactly ${bytes} bytes of text, or of ${bytes * 2} hexadecimal digits`;
  const had = Buffer.byteLength(key);
  const given = had === bytes * 2 ? `${had} bytes that are not all hexadecimal digits` : `${had} bytes`;
  return `${nameOf(parsed)} needs ${wanted}; this one has ${given}`;
}

/**
 * Encrypts one file: a fresh IV (16 bytes; GCM 12), the ciphertext (CBC with PKCS #7 padding), and GCM's tag (16
 * bytes). Refuses a wrong key.
 */
export function encryptionStream(type: string, key: string): Transform {
  const { parsed, bytes } = fitting(type, key);
  const iv = randomBytes(ivBytes(parsed));
  const cipher = createCipheriv(algorithm(parsed), bytes, iv);
  let isBegun = false;
  const begin = (stream: Transform) => {
    if (!isBegun) stream.push(iv);
    isBegun = true;
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      begin(this);
      done(null, cipher.update(chunk));
    },
    flush(done) {
      begin(this);
      this.push(cipher.final());
      if (parsed.mode === 'GCM') this.push((cipher as CipherGCM).getAuthTag());
      done();
    },
  });
}

/**
 * Decrypts a file. Refuses a truncated one, a wrong GCM tag and a wrong CBC padding. Trust nothing before the end: CTR
 * notices no change and CBC not each, so compare the manifest's checksums.
 */
export function decryptStream(type: string, key: string): Transform {
  const { parsed, bytes } = fitting(type, key);
  const file = new EncryptedFile(parsed, bytes);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      pass(done, () => file.update(this, chunk));
    },
    flush(done) {
      pass(done, () => file.end(this));
    },
  });
}

/** Splits IV, ciphertext and tag, in whatever pieces the bytes come. */
class EncryptedFile {
  private readonly type: EncryptionType;
  private readonly key: Buffer;
  private decipher: Decipheriv | undefined;
  private held: Buffer = Buffer.alloc(0);
  private sizeBytes = 0;

  constructor(type: EncryptionType, key: Buffer) {
    this.type = type;
    this.key = key;
  }

  update(out: Transform, chunk: Buffer): void {
    this.sizeBytes += chunk.length;
    const bytes = this.decipher ? chunk : this.begin(chunk);
    if (this.decipher && bytes.length > 0) this.decrypt(out, this.decipher, bytes);
  }

  private begin(chunk: Buffer): Buffer {
    const start = Buffer.concat([this.held, chunk]);
    const length = ivBytes(this.type);
    if (start.length < length) {
      this.held = start;
      return Buffer.alloc(0);
    }
    this.held = Buffer.alloc(0);
    this.decipher = makeDecipher(this.type, this.key, start.subarray(0, length));
    return start.subarray(length);
  }

  private decrypt(out: Transform, decipher: Decipheriv, bytes: Buffer): void {
    if (this.type.mode !== 'GCM') {
      out.push(decipher.update(bytes));
      return;
    }
    const ready = this.held.length + bytes.length - TAG_BYTES;
    const ofHeld = Math.min(Math.max(ready, 0), this.held.length);
    const ofBytes = Math.max(ready - ofHeld, 0);
    if (ofHeld > 0) out.push(decipher.update(this.held.subarray(0, ofHeld)));
    if (ofBytes > 0) out.push(decipher.update(bytes.subarray(0, ofBytes)));
    // A copy: the chunk's memory may be used again.
    this.held = Buffer.concat([this.held.subarray(ofHeld), bytes.subarray(ofBytes)]);
  }

  end(out: Transform): void {
    const { type, decipher, sizeBytes } = this;
    const least = ivBytes(type) + { CBC: BLOCK_BYTES, CTR: 0, GCM: TAG_BYTES }[type.mode];
    if (!decipher || sizeBytes < least) {
      refuse(
        400,
        'cut_off',
        `The file is cut off: it has ${sizeBytes} bytes, and one of ${nameOf(type)} has ${least} at least.`,
      );
    }
    if (type.mode === 'CBC' && sizeBytes % BLOCK_BYTES !== 0) {
      refuse(
        400,
        'cut_off',
        `The file is cut off, or is none of AES-${type.bits}-CBC: its ${sizeBytes} bytes are not whole blocks of 16.`,
      );
    }
    if (type.mode === 'GCM') (decipher as DecipherGCM).setAuthTag(this.held);
    out.push(final(decipher, type));
  }
}

function final(decipher: Decipheriv, type: EncryptionType): Buffer {
  try {
    return decipher.final();
  } catch {
    return refuse(
      400,
      'not_decrypted',
      type.mode === 'GCM'
        ? 'Not this key or type, or the file was changed or cut off: its tag does not match. Nothing of it is to be used.'
        : 'Not this key or type, or the file was changed or cut off: its padding is none of CBC.',
    );
  }
}

function pass(done: TransformCallback, work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    done(error);
    return;
  }
  done();
}

function fitting(type: string, key: string): { parsed: EncryptionType; bytes: Buffer } {
  const parsed = parseEncryptionType(type);
  const bytes = parsed && keyBytes(parsed, key);
  return parsed && bytes ? { parsed, bytes } : refuse(400, 'bad_key', `${encryptionKeyError(type, key)}.`);
}

function keyBytes({ bits }: EncryptionType, key: string): Buffer | undefined {
  const bytes = Buffer.from(key);
  if (bytes.length === bits / 8) return bytes;
  return bytes.length === bits / 4 && HEX.test(key) ? Buffer.from(key, 'hex') : undefined;
}

function makeDecipher(type: EncryptionType, key: Buffer, iv: Buffer): Decipheriv {
  if (type.mode !== 'GCM') return createDecipheriv(algorithm(type), key, iv);
  return createDecipheriv(algorithm(type) as CipherGCMTypes, key, iv, { authTagLength: TAG_BYTES });
}

const algorithm = ({ bits, mode }: EncryptionType) => `aes-${bits}-${mode.toLowerCase()}`;
const nameOf = ({ bits, mode }: EncryptionType) => `AES-${bits}-${mode}`;
const ivBytes = ({ mode }: EncryptionType) => (mode === 'GCM' ? 12 : 16);
