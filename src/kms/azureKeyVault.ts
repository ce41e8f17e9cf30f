import { checkClient, checkText, type ServiceOptions, serviceSettings, systemEnvironment } from './options.js'
import { fromCoordinates } from './publicKey.js'
import { createService, signerError } from './service.js'
import { type ServiceAccount, serviceAccountOf } from './serviceAccount.js'

type AzureCall = { readonly abortSignal?: AbortSignal }

/** The used methods of `KeyClient` of `@azure/keyvault-keys`. */
export type AzureKeyClient = {
  /** Returns the public key as a JSON web key, and whether it is enabled. */
  getKey(name: string, options?: AzureCall & { version?: string }): Promise<AzureKey>
  /** Returns a client that signs with one version of a key. */
  getCryptographyClient(
    name: string,
    options?: { keyVersion?: string },
  ): {
    sign(algorithm: string, digest: Uint8Array, options?: AzureCall): Promise<{ result: Uint8Array }>
  }
}

type AzureKey = {
  key?:
    | {
        kty?: string | undefined
        crv?: string | undefined
        keyOps?: readonly string[] | undefined
        x?: Uint8Array | undefined
        y?: Uint8Array | undefined
      }
    | undefined
  properties: { version?: string | undefined; enabled?: boolean | undefined }
}

/** The parameters of `azureKeyVaultAccount`. */
export type AzureKeyVaultParameters = ServiceOptions & {
  /** A `KeyClient` of `@azure/keyvault-keys`, version 4, with the URL of the vault and a credential. */
  client: AzureKeyClient
  /** The name of the key in the vault. */
  keyName: string
  /**
   * The version of the key that signs. @default the newest one when the account is created; the account keeps
   * that version
   */
  keyVersion?: string | undefined
}

const NAMES = { client: true, keyName: true, keyVersion: true } as const

/**
 * Creates the account of a key in Azure Key Vault or Managed HSM: of the type `EC` or `EC-HSM`, on the curve
 * `P-256K`, with the operation `sign`. The caller needs the permissions `get` and `sign` on keys (the role
 * Key Vault Crypto User has them). The public key is read once, by this call, and the account keeps the
 * version that it found: a rotation does not change its address.
 *
 * While the service throttles, fails or does not answer, a request is retried, first after 50 to 100 ms,
 * later after at most 5 s, until `timeoutMs` is over. A refusal fails at once. Not guaranteed: that other
 * users of the vault leave enough of its quota.
 *
 * @throws TxlaneError `INVALID` for an invalid argument; `SIGNER` if the key is of another kind, disabled or
 *   unavailable, with the message of the service. Signing throws `SIGNER` in the same cases
 * @example
 * const keys = new KeyClient('https://relayers.vault.azure.net', new DefaultAzureCredential())
 * const relayer = await azureKeyVaultAccount({ client: keys, keyName: 'relayer' })
 * const sender = createSender({ client: baseClient, account: relayer })
 */
export async function azureKeyVaultAccount(
  parameters: AzureKeyVaultParameters,
): Promise<ServiceAccount<'azureKeyVault'>> {
  const settings = serviceSettings(parameters, NAMES)
  const { client, keyName, keyVersion } = parameters
  checkClient(client, ['getKey', 'getCryptographyClient'], 'a KeyClient of @azure/keyvault-keys')
  checkText('keyName', keyName, 'the name of a key')
  if (keyVersion !== undefined) checkText('keyVersion', keyVersion, 'a version of the key')
  const service = createService('Azure Key Vault', settings, systemEnvironment)
  const found = await service.call('give the public key', (abortSignal) =>
    client.getKey(keyName, { abortSignal, ...(keyVersion === undefined ? {} : { version: keyVersion }) }),
  )
  const { version = keyVersion } = found.properties
  const cryptography = client.getCryptographyClient(
    keyName,
    version === undefined ? {} : { keyVersion: version },
  )
  return serviceAccountOf({
    service,
    source: 'azureKeyVault',
    publicKey: publicKeyOf(found),
    concurrency: settings.concurrency,
    async ask({ hash }, abortSignal) {
      const { result } = await cryptography.sign('ES256K', hash, { abortSignal })
      return { rs: result }
    },
  })
}

/** @throws TxlaneError `SIGNER` for a key that cannot sign for Ethereum */
function publicKeyOf({ key, properties: { enabled } }: AzureKey) {
  const { kty, crv, keyOps, x, y } = key ?? {}
  const publicKey = crv === 'P-256K' && x && y ? fromCoordinates(x, y) : undefined
  if (publicKey && enabled !== false && keyOps?.includes('sign') !== false) return publicKey
  throw signerError(
    'The key in Azure Key Vault cannot sign for Ethereum: this needs an enabled EC key on the curve P-256K with the operation sign.',
    `kty ${kty}, crv ${crv}, key_ops ${keyOps?.join(' ')}, enabled ${enabled}`,
  )
}
