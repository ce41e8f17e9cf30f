import { checkClient, checkText, type ServiceOptions, serviceSettings, systemEnvironment } from './options.js'
import { fromPem } from './publicKey.js'
import { createService, signerError } from './service.js'
import { type ServiceAccount, serviceAccountOf } from './serviceAccount.js'

/** The SDK makes one try per call, because this module retries by itself. */
type GoogleCall = { readonly timeout?: number; readonly retry?: null }

/** The used methods of `KeyManagementServiceClient` of `@google-cloud/kms`. */
export type GoogleKmsClient = {
  /** Returns the public key in PEM, and the algorithm of its version. */
  getPublicKey(
    request: { name: string },
    options?: GoogleCall,
  ): Promise<
    readonly [
      { pem?: string | null | undefined; algorithm?: string | number | null | undefined },
      ...(readonly unknown[]),
    ]
  >
  /** Signs a digest; the signature is in DER. */
  asymmetricSign(
    request: { name: string; digest: { sha256: Uint8Array } },
    options?: GoogleCall,
  ): Promise<readonly [{ signature?: Uint8Array | string | null | undefined }, ...(readonly unknown[])]>
}

/** The parameters of `googleKmsAccount`. */
export type GoogleKmsParameters = ServiceOptions & {
  /** A `KeyManagementServiceClient` of `@google-cloud/kms`, with its credentials. */
  client: GoogleKmsClient
  /**
   * The version of the key: `projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/1`, as
   * `client.cryptoKeyVersionPath` returns it.
   */
  keyVersion: string
}

const NAMES = { client: true, keyVersion: true } as const
const VERSION =
  /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+\/cryptoKeyVersions\/\d+$/

/**
 * Creates the account of a key in Google Cloud KMS: a version of a key with the purpose `ASYMMETRIC_SIGN`,
 * the algorithm `EC_SIGN_SECP256K1_SHA256` and the protection level `HSM`. The caller needs the role
 * `roles/cloudkms.signerVerifier` on it. The public key is read once, by this call. The service gets the hash
 * to sign in place of a SHA-256 digest.
 *
 * While the service throttles, fails or does not answer, a request is retried, first after 50 to 100 ms,
 * later after at most 5 s, until `timeoutMs` is over. A refusal fails at once. Not guaranteed: that other
 * users of the project leave enough of its quota.
 *
 * @throws TxlaneError `INVALID` for an invalid argument; `SIGNER` if the key is of another kind, disabled,
 *   destroyed or unavailable, with the message of the service. Signing throws `SIGNER` in the same cases
 * @example
 * const kms = new KeyManagementServiceClient()
 * const keyVersion = kms.cryptoKeyVersionPath('project', 'europe-west3', 'ring', 'relayer', '1')
 * const relayer = await googleKmsAccount({ client: kms, keyVersion })
 * const sender = createSender({ client: baseClient, account: relayer })
 */
export async function googleKmsAccount(
  parameters: GoogleKmsParameters,
): Promise<ServiceAccount<'googleKms'>> {
  const settings = serviceSettings(parameters, NAMES)
  const { client, keyVersion: name } = parameters
  checkClient(client, ['getPublicKey', 'asymmetricSign'], 'a KeyManagementServiceClient of @google-cloud/kms')
  checkText('keyVersion', name, 'the name of a version of a key', VERSION)
  const service = createService('Google Cloud KMS', settings, systemEnvironment)
  const call: GoogleCall = { timeout: settings.requestTimeoutMs, retry: null }
  const [key] = await service.call('give the public key', () => client.getPublicKey({ name }, call))
  const publicKey = fromPem(key.pem ?? '')
  if (publicKey === undefined)
    throw signerError(
      'The key in Google Cloud KMS cannot sign for Ethereum: this needs the algorithm EC_SIGN_SECP256K1_SHA256.',
      `algorithm ${key.algorithm}`,
    )
  return serviceAccountOf({
    service,
    source: 'googleKms',
    publicKey,
    concurrency: settings.concurrency,
    async ask({ hash }) {
      const [{ signature }] = await client.asymmetricSign({ name, digest: { sha256: hash } }, call)
      return { der: bytesOf(signature) }
    },
  })
}

/** The signature is bytes over gRPC, and base64 over JSON. */
function bytesOf(signature: Uint8Array | string | null | undefined): Uint8Array {
  if (typeof signature !== 'string') return Uint8Array.from(signature ?? [])
  return Uint8Array.from(atob(signature), (char) => char.charCodeAt(0))
}
