import { type Hex, keccak256, toHex } from 'viem'
import { systemClock, systemRandom } from '../../src/platform/clock.js'
import { createAccounts } from './accounts.js'
import { findAnvil, startAnvil } from './anvilProcess.js'
import type { Devnet } from './devnet.js'
import { createHandle } from './handle.js'
import { createNode } from './node.js'
import { type DevnetOptions, type DevnetSettings, settingsOf } from './options.js'
import { createAnvilRpc } from './rpc/anvilRpc.js'

const BALANCE_ETHER = 10_000

/**
 * Starts a local chain on anvil: with pre-confirmations, with fast canonical blocks, or plain (`mode`).
 *
 * @throws TxlaneError `INVALID` for bad options; `UNSUPPORTED` when anvil is missing or does not start.
 * @example
 * await using devnet = await startDevnet({ mining: 'manual' })
 * const client = devnet.client()
 * const hash = await client.sendTransaction({ to: client.account.address, value: 1n })
 * await devnet.stepFlashblock() // `pending` shows it
 * await devnet.seal() // so does `latest`
 */
export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const settings = settingsOf(options)
  const accounts = createAccounts(settings.accounts)
  const anvil = await startAnvil(findAnvil(settings.anvilPath), anvilArgs(settings))
  const rpc = createAnvilRpc(anvil.url)
  try {
    const balance = toHex(BigInt(BALANCE_ETHER) * 10n ** 18n)
    await rpc.batch(
      accounts.map(({ address }) => ({ method: 'anvil_setBalance', params: [address, balance] })),
    )
    const node = await createNode({ settings, rpc, accounts, clock: systemClock, salt: randomHash })
    return createHandle({ settings, accounts, anvil, rpc, node })
  } catch (error) {
    rpc.close()
    await anvil.stop()
    throw error
  }
}

function anvilArgs(settings: DevnetSettings): string[] {
  return [
    '--no-mining',
    '--accounts=0',
    `--chain-id=${settings.chainId}`,
    `--gas-limit=${settings.gasLimit}`,
    // Without this flag anvil writes old states to disk, and leaves them there when it is killed.
    `--prune-history=${settings.historyBlocks * settings.flashblocksPerBlock}`,
    ...(settings.forkUrl === undefined
      ? [`--block-base-fee-per-gas=${settings.baseFeePerGasWei}`]
      : [`--fork-url=${settings.forkUrl}`]),
  ]
}

function randomHash(): Hex {
  return keccak256(toHex(`${systemRandom()} ${systemRandom()} ${systemClock.wallNow()}`))
}
