// What a program in ESM sees of the built package: `txlane` is resolved by package.json's own exports, to `dist`.
import type { KMS, KMSClient } from '@aws-sdk/client-kms'
import type { KeyClient } from '@azure/keyvault-keys'
import type { KeyManagementServiceClient } from '@google-cloud/kms'
import { createSender, isTxlaneError, type Landed, memoryStore, type Sender, TxlaneError } from 'txlane'
import { type Devnet, startDevnet } from 'txlane/devnet'
import {
  awsKmsAccount,
  azureKeyVaultAccount,
  googleKmsAccount,
  type ServiceAccount,
  web3SignerAccount,
} from 'txlane/kms'
import { createOutbox, type Outbox, verifyWebhook, webhook } from 'txlane/outbox'
import { createPublicClient, createWalletClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'

declare const key: Hex
const account = privateKeyToAccount(key)
const client = createWalletClient({ account, chain: base, transport: http() })

export const sender: Sender<typeof base> = createSender({ client, store: memoryStore() })

export async function l1FeeOf(): Promise<bigint | null> {
  const tx = await sender.send({ to: account.address, value: 1n })
  const landed: Landed<typeof base, 'sealed'> = await tx.wait('sealed')
  return landed.receipt.l1Fee
}

export function fateOf(error: unknown): TxlaneError['fate'] | undefined {
  return error instanceof TxlaneError || isTxlaneError(error) ? error.fate : undefined
}

export const devnet: Promise<Devnet> = startDevnet({ rules: 'geth' })

// @ts-expect-error the client has no account
createSender({ client: createPublicClient({ chain: base, transport: http() }) })
// @ts-expect-error the lane owns the nonce
void sender.send({ to: account.address, nonce: 1 })

// The SDKs' own clients are what the accounts of their services take.
declare const kms: { aws: KMS; bare: KMSClient; azure: KeyClient; google: KeyManagementServiceClient }
export async function serviceAccounts(): Promise<readonly ServiceAccount[]> {
  const aws = await awsKmsAccount({ client: kms.aws, keyId: 'alias/relayer', concurrency: 4 })
  createSender({ client: createPublicClient({ chain: base, transport: http() }), account: aws })
  const google = await googleKmsAccount({ client: kms.google, keyVersion: 'version' })
  const azure = await azureKeyVaultAccount({ client: kms.azure, keyName: 'relayer' })
  return [aws, google, azure, await web3SignerAccount({ url: 'http://web3signer:9000' })]
}
export const outbox: Outbox = createOutbox({
  store: memoryStore(),
  name: 'orders',
  receipts: sender,
  onStage: webhook({ url: 'https://example.com', secret: 'whsec_' }),
})
export const believed = async (body: string, headers: Headers) =>
  (await verifyWebhook({ body, headers, secret: 'whsec_' })).data.tx.status
// @ts-expect-error it has no methods but `send`
void awsKmsAccount({ client: kms.bare, keyId: 'alias/relayer' })
// @ts-expect-error the key is not named
void awsKmsAccount({ client: kms.aws })
