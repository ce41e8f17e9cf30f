import { type Chain, createClient, http, type LocalAccount } from 'viem'
import { createSender, isTxlaneError } from '../../src/index.js'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { createAccounts } from '../../tools/devnet/accounts.js'
import { transfer } from './recoverySupport.js'

// A child process whose files are limited in size by its parent. It sends until its store accepts no more
// writes, prints the result of each send, and exits without closing anything.
const [path = '', account = '0', chain = '{}'] = process.argv.slice(2)
const IN_TURN = 20

async function main(): Promise<void> {
  const definition = JSON.parse(chain) as Chain
  const url = definition.rpcUrls.default.http[0]
  const own = createAccounts(Number(account) + 1)[Number(account)] as LocalAccount
  const client = createClient({ account: own, chain: definition, transport: http(url, { retryCount: 0 }) })
  const sender = createSender({ client, store: sqliteStore({ path, synchronous: 'NORMAL' }) })
  await sender.ready()
  for (let marker = 1, failed = false; !failed; marker += IN_TURN) {
    const turn = Array.from({ length: IN_TURN }, (_, index) => marker + index)
    await Promise.all(
      turn.map((one) =>
        sender.send(transfer(one), { id: `${one}`, until: 'queued' }).then(
          () => say({ marker: one, kept: true }),
          (error: unknown) => {
            failed = true
            if (isTxlaneError(error)) say({ marker: one, kept: false, code: error.code, fate: error.fate })
            else say({ marker: one, kept: false, message: String(error) })
          },
        ),
      ),
    )
  }
}

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

void main().then(() => process.stdout.write('', () => process.exit(0)))
