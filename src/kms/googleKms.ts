import { systemEnvironment } from './environment.js'
import { checkClient, checkText, type ServiceOptions, serviceSettings } from './options.js'
import { fromPem } from './publicKey.js'
import { createService } from './service.js'
import { type ServiceAccount, serviceAccountOf } from './serviceAccount.js'
import { signerError } from './signerError.js'

/** One try a call: what is made again is made again here. */
type GoogleCall = { readonly timeout?: number; readonly retry?: null }

/** What is called of `KeyManagementServiceClient` of `@google-cloud/kms`. */
export type GoogleKmsClient = {
  /** Gives the public key, in PEM, and the algorithm of its version. */
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

/** What `googleKmsAccount` takes. */
export type GoogleKmsParameters = ServiceOptions & {
  /** A `KeyManagementServiceClient` of `@google-cloud/kms`, with its credentials. */
  client: GoogleKmsClient
  /**
   * The version of the key: `projects/…/locations/…/keyRings/…/cryptoKeys/…/cryptoKeyVersions/1`, as
   * `client.cryptoKeyVersionPath` makes it.
   */
  keyVersion: string
}

const NAMES = { client: true, keyVersion: true } as const
const VERSION =
  /^projects\/[^/]+\/locations\/[^/]+\/keyRings\/[^/]+\/cryptoKeys\/[^/]+\/cryptoKeyVersions\/\d+$/

/**
 * The account of a key in Google Cloud KMS: a version of a key with the purpose `ASYMMETRIC_SIGN`, the algorithm
 * `EC_SIGN_SECP256K1_SHA256` and the protection level `HSM`. The caller needs the role `roles/cloudkms.signerVerifier` on
 * it. The public key is read once, here. The service is given the hash to sign in the place of a SHA-256 digest.
 *
 * While the service throttles, fails or does not answer, a request is made again, at first after 50 to 100 ms, later after
 * 5 s at most, until `timeoutMs` is over. What it refuses fails at once. Not guaranteed: that other users of the project
 * leave enough of its quota.
 *
 * @throws TxlaneError `INVALID` for an argument that cannot work; `SIGNER` where the key is of another kind, disabled,
 * destroyed or not to be had, with the words of the service. Signing throws `SIGNER` likewise
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
      'The key in Google Cloud KMS cannot sign for Ethereum: that takes the algorithm EC_SIGN_SECP256K1_SHA256.',
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

/** Bytes over gRPC; base64 where JSON came. */
function bytesOf(signature: Uint8Array | string | null | undefined): Uint8Array {
  if (typeof signature !== 'string') return Uint8Array.from(signature ?? [])
  return Uint8Array.from(atob(signature), (char) => char.charCodeAt(0))
}
