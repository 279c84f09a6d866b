/** How a bucket may be asked to encrypt what is uploaded, as S3's header x-amz-server-side-encryption names it. */
export const SERVER_SIDE_ENCRYPTIONS = ['AES256', 'aws:kms'] as const;

/** `kmsKeyId`: the key for aws:kms; null: the account's own for S3. */
export type ServerSideEncryption = { algorithm: (typeof SERVER_SIDE_ENCRYPTIONS)[number]; kmsKeyId: string | null };

/** Returns the members by which requests of S3's SDK ask for it; none for null. */
export function encryptionMembers(encryption: ServerSideEncryption | null) {
  if (encryption === null) return {};
  return {
    ServerSideEncryption: encryption.algorithm,
    ...(encryption.kmsKeyId === null ? {} : { SSEKMSKeyId: encryption.kmsKeyId }),
  };
}
