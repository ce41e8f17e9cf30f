import { format, inspect } from 'node:util'
import { pino } from 'pino'
import { createWalletClient, defineChain, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import {
  createLanes,
  createNonceAllocator,
  createSender,
  createSenderPool,
  createViemNonceManager,
} from '../../index.js'

const KEY = `0x${'4f'.repeat(31)}a1` as const
const URL_KEY = 'https://user:hunter2@rpc.example.com/v2/pathKey'
const SECRETS = ['hunter2', 'pathKey', 'rpc.example.com', KEY.slice(2)]

const account = privateKeyToAccount(KEY)
const chain = defineChain({
  id: 8453,
  name: 'local',
  nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [URL_KEY], webSocket: [URL_KEY] } },
})
const client = createWalletClient({ account, chain, transport: http(URL_KEY) })

const lanes = createLanes({ chains: [{ client }] })
const objects: Readonly<Record<string, object>> = {
  'a sender': createSender({ client }),
  'a copy of a sender': { ...createSender({ client }) },
  'a pool': createSenderPool({ client, accounts: [account] }),
  'a copy of a pool': { ...createSenderPool({ client, accounts: [account] }) },
  lanes,
  'a sender of lanes': lanes.sender({ chainId: 8453, account }),
  'a pool of lanes': lanes.pool({ chainId: 8453, accounts: [account] }),
  'an allocator': createNonceAllocator({ client, address: account.address }),
  "viem's nonce manager": createViemNonceManager(),
}

/** With an account that has its own key, as a logger or a console prints it. */
const printers: Readonly<Record<string, (value: object) => string>> = {
  JSON: (value) => JSON.stringify(value),
  'util.inspect': (value) => inspect(value),
  'util.inspect of everything': (value) =>
    inspect(value, { depth: Infinity, showHidden: true, showProxy: true }),
  'format %O': (value) => format('%O', value),
  'format %o': (value) => format('%o', value),
  'format %j': (value) => format('%j', value),
  pino: (value) => {
    let written = ''
    const write = (text: string) => {
      written += text
    }
    const logger = pino({}, { write })
    logger.info(value)
    logger.info({ sender: value }, 'sent')
    return written
  },
}

describe.each(Object.entries(objects))('%s', (_, object) => {
  it.each(Object.entries(printers))('shows no URL and no key in %s', (__, print) => {
    for (const value of [object, { nested: { object } }, [object]]) {
      const shown = print(value)
      for (const secret of SECRETS) expect(shown).not.toContain(secret)
    }
  })

  it('shows none in console.dir, which ignores custom inspection', () => {
    const shown = inspect(object, { depth: Infinity, showHidden: true, customInspect: false })
    for (const secret of SECRETS) expect(shown).not.toContain(secret)
  })
})

it('shows a sender by its chain and its address, and its chain is the one of its client', () => {
  const sender = createSender({ client })
  expect(JSON.parse(JSON.stringify(sender))).toEqual({ chainId: 8453, address: account.address })
  expect(sender.chain).toBe(chain)
})
