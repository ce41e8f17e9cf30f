// What a program in ESM sees of the built package: `txlane` is resolved by package.json's own exports, to `dist`.
import { createSender, isTxlaneError, type Landed, memoryStore, type Sender, TxlaneError } from 'txlane'
import { type Devnet, startDevnet } from 'txlane/devnet'
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
