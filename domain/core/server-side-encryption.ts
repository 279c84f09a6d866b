/** Encryption of uploads that a bucket may use, by the names of S3's header x-amz-server-side-encryption. */
export const SERVER_SIDE_ENCRYPTIONS = ['AES256', 'aws:kms'] as const;

/** `kmsKeyId`: the key for aws:kms; null means the account's default key for S3. */
export type ServerSideEncryption = { algorithm: (typeof SERVER_SIDE_ENCRYPTIONS)[number]; kmsKeyId: string | null };
