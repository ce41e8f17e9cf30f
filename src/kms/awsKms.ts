import {
  checkClient,
  checkText,
  type KmsEnvironment,
  type ServiceOptions,
  serviceSettings,
  systemEnvironment,
} from './options.js'
import { fromSpki } from './publicKey.js'
import { createService, signerError } from './service.js'
import { type ServiceAccount, serviceAccountOf } from './serviceAccount.js'

type AwsCall = { readonly abortSignal?: AbortSignal }

/** The used methods of `KMS` of `@aws-sdk/client-kms`. */
export type AwsKmsClient = {
  /** Returns the public key in DER, with its key spec and usage. */
  getPublicKey(
    input: { KeyId: string },
    options?: AwsCall,
  ): Promise<{
    PublicKey?: Uint8Array | undefined
    KeySpec?: string | undefined
    KeyUsage?: string | undefined
  }>
  /** Signs a digest; the signature is in DER. */
  sign(
    input: { KeyId: string; Message: Uint8Array; MessageType: 'DIGEST'; SigningAlgorithm: 'ECDSA_SHA_256' },
    options?: AwsCall,
  ): Promise<{ Signature?: Uint8Array | undefined }>
}

/** The parameters of `awsKmsAccount`. */
export type AwsKmsParameters = ServiceOptions & {
  /** A `KMS` of `@aws-sdk/client-kms`, version 3, with its region and credentials. */
  client: AwsKmsClient
  /** The key: its id, its ARN, or an alias (`alias/relayer`). */
  keyId: string
}

const NAMES = { client: true, keyId: true } as const

/**
 * Creates the account of a key in AWS KMS: an asymmetric key with the key spec `ECC_SECG_P256K1` and the
 * usage `SIGN_VERIFY`. The caller's role needs `kms:GetPublicKey` and `kms:Sign` on it. The public key is
 * read once, by this call.
 *
 * While the service throttles, fails or does not answer, a request is retried, first after 50 to 100 ms,
 * later after at most 5 s, until `timeoutMs` is over. A refusal fails at once. Not guaranteed: that other
 * users of the key leave enough of its quota.
 *
 * @throws TxlaneError `INVALID` for an invalid argument; `SIGNER` if the key is of another kind, disabled,
 *   pending deletion or unavailable, with the message of the service. Signing throws `SIGNER` in the same
 *   cases
 * @example
 * const kms = new KMS({ region: 'eu-central-1' })
 * const relayer = await awsKmsAccount({ client: kms, keyId: 'alias/relayer' })
 * const sender = createSender({ client: baseClient, account: relayer })
 */
export async function awsKmsAccount(parameters: AwsKmsParameters): Promise<ServiceAccount<'awsKms'>> {
  return awsKmsAccountIn(systemEnvironment, parameters)
}

/** `awsKmsAccount` with a given clock: for tests. */
export async function awsKmsAccountIn(
  environment: KmsEnvironment,
  parameters: AwsKmsParameters,
): Promise<ServiceAccount<'awsKms'>> {
  const settings = serviceSettings(parameters, NAMES)
  const { client, keyId } = parameters
  checkClient(client, ['getPublicKey', 'sign'], 'a KMS of @aws-sdk/client-kms (not a KMSClient)')
  checkText('keyId', keyId, 'the id, the ARN or an alias of a key')
  const service = createService('AWS KMS', settings, environment)
  const key = await service.call('give the public key', (abortSignal) =>
    client.getPublicKey({ KeyId: keyId }, { abortSignal }),
  )
  const publicKey = key.PublicKey && fromSpki(key.PublicKey)
  if (publicKey === undefined || key.KeyUsage !== 'SIGN_VERIFY') {
    const said = `KeySpec ${key.KeySpec}, KeyUsage ${key.KeyUsage}`
    throw signerError(
      'The key in AWS KMS cannot sign for Ethereum: this needs ECC_SECG_P256K1, SIGN_VERIFY.',
      said,
    )
  }
  return serviceAccountOf({
    service,
    source: 'awsKms',
    publicKey,
    concurrency: settings.concurrency,
    async ask({ hash }, abortSignal) {
      const input = {
        KeyId: keyId,
        Message: hash,
        MessageType: 'DIGEST',
        SigningAlgorithm: 'ECDSA_SHA_256',
      } as const
      const { Signature } = await client.sign(input, { abortSignal })
      return { der: Signature ?? new Uint8Array() }
    },
  })
}
