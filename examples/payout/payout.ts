import { readFile } from 'node:fs/promises'
import { createSender } from 'txlane'
import { sqliteStore } from 'txlane/sqlite'
import { type Chain, createWalletClient, type Hex, http, parseGwei } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import * as chains from 'viem/chains'
import { readRows } from './rows.js'

const { RPC_URL, PRIVATE_KEY, CHAIN_ID = '8453', STORE = './payouts.db', MAX_FEE_GWEI } = process.env
const file = process.argv[2]
const chain = (Object.values(chains) as Chain[]).find(({ id }) => id === Number(CHAIN_ID))
if (!RPC_URL || !PRIVATE_KEY || !chain || !file) {
  console.error('Usage: RPC_URL=… PRIVATE_KEY=… [CHAIN_ID=…] payout.ts FILE')
  process.exit(2)
}

// All rows are checked before the first one is sent.
const rows = readRows(await readFile(file, 'utf8'))
const account = privateKeyToAccount(PRIVATE_KEY as Hex)
const store = sqliteStore({ path: STORE })
const sender = createSender({
  client: createWalletClient({ account, chain, transport: http(RPC_URL) }),
  store,
  fees: MAX_FEE_GWEI ? { ceiling: { maxFeePerGas: parseGwei(MAX_FEE_GWEI) } } : {},
})

// `sendMany` gets no signal: an aborted transaction has ended, and its id with it. After `close`, the next
// run continues.
let stopped = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    stopped = true
    void sender.close()
  })
}

function* items() {
  for (const { id, to, value } of rows) {
    if (stopped) return
    // A row that an earlier run could not pay starts again; a paid row, or one in flight, stays as it is.
    yield { id, again: true, request: { to, value } }
  }
}

let paid = 0
const onProgress = ({ sealed, failed }: { sealed: number; failed: number }) => {
  process.stderr.write(`\r${sealed} of ${rows.length} paid${failed ? `, ${failed} not` : ''}`)
}
for await (const result of sender.sendMany(items(), { until: 'sealed', onProgress })) {
  const { id } = result
  if (result.ok) {
    const { hash, status } = result.landed ?? {}
    if (status === 'success') paid++
    console.log(JSON.stringify({ id, status, hash }))
  } else {
    console.log(JSON.stringify({ id, code: result.error.code, fate: result.error.fate }))
  }
}
process.stderr.write('\n')
await sender.close()
await store.close()
process.exitCode = stopped ? 130 : paid === rows.length ? 0 : 1
