import type { Address, Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { accountKey } from '../../../tools/devnet/accounts.js'
import { bundleChild } from '../../support/bundleChild.js'
import { type HookReceiver, startHookReceiver } from '../../support/hookReceiver.js'
import { relayerFiles } from '../../support/relayer.js'
import type { Place } from '../../sweep/place.js'
import { callersOf } from './callers.js'
import { type ServiceNode, startServiceNode } from './node.js'
import { createService, type Service } from './services.js'

/** A chain, the processes of the service (not started yet), and the receiver of their webhooks. */
export type Setting = AsyncDisposable & {
  readonly node: ServiceNode
  readonly services: readonly Service[]
  /** The webhook receiver of the honest callers. */
  readonly receiver: HookReceiver
  /** All sending accounts, including those added later. */
  readonly accounts: readonly Address[]
  /** Replaces one key in all running processes. Processes that start later read the file. */
  changeKeys(): Promise<void>
}

const PROGRAM = new URL('../../../examples/relayer/server.ts', import.meta.url)
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
/** The receiver refuses one in this many deliveries at first, as real receivers do. */
const REFUSED_ONE_IN = 20
const TREASURY_WEI = 10n ** 21n
const KEY_WEI = 10n ** 17n
// The keys are not those of the devnet, because the devnet funds its own.
const keyOf = (index: number) => accountKey(100 + index)

export async function openSetting(
  { processes, keys, seed }: { readonly processes: number; readonly keys: number; readonly seed: number },
  { store }: Place,
): Promise<Setting> {
  if (store.kind !== 'postgres') throw new Error('The service keeps its transactions in PostgreSQL.')
  let heard = 0
  const [bundle, node, files, receiver, silent] = await Promise.all([
    bundleChild(PROGRAM),
    startServiceNode(seed),
    relayerFiles(),
    startHookReceiver(SECRET, () => (heard++ % REFUSED_ONE_IN === 0 ? 503 : 204)),
    startHookReceiver(SECRET, () => 'silence'),
  ])
  const present = Array.from({ length: keys }, (_, index) => keyOf(index))
  const [next, treasury] = [keyOf(keys), keyOf(keys + 1)]
  await files.writeCallers(callersOf({ honest: receiver.url, silent: silent.url, secret: SECRET }))
  await files.writeKeys(present)
  await node.fund([privateKeyToAddress(treasury)], TREASURY_WEI)
  // The last key begins without funds: the treasury has to fund it.
  await node.fund(present.slice(0, -1).map(addressOf), KEY_WEI)
  const environment = {
    RPC_URL: node.url,
    CHAIN_ID: `${node.chainId}`,
    DATABASE_URL: store.connectionString,
    DATABASE_SCHEMA: store.schema,
    TREASURY_KEY: treasury,
    TREASURY_BELOW: '0.05',
    TREASURY_UP_TO: '0.2',
    ...files.environment,
  }
  const services = await Promise.all(
    Array.from({ length: processes }, (_, number) => createService(number, bundle.path, environment)),
  )
  return {
    node,
    services,
    receiver,
    accounts: [...present, next, treasury].map(addressOf),
    async changeKeys() {
      await files.writeKeys([`retired ${present[0]}`, ...present.slice(1), next])
      await Promise.all(
        services
          .filter(({ isUp }) => isUp)
          .map((service) => {
            service.signal('SIGHUP')
            return service.says(/account added/)
          }),
      )
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(services.map((service) => service.kill()))
      await Promise.all([bundle, node, files, receiver, silent].map((one) => one[Symbol.asyncDispose]()))
    },
  }
}

const addressOf = (key: Hex) => privateKeyToAddress(key)
