import { readTexts, type Source } from '../house/sources.js'
import type { Example } from './typeCheck.js'

// The context that examples assume: the exports of viem and ethers, and the reader's account, client and
// data.
const GIVEN = `
import { KMS } from '@aws-sdk/client-kms'
import { DefaultAzureCredential } from '@azure/identity'
import { KeyClient } from '@azure/keyvault-keys'
import { KeyManagementServiceClient } from '@google-cloud/kms'
import { Contract, JsonRpcProvider } from 'ethers'
import { type Address, concat, createPublicClient, createWalletClient, encodeFunctionData, type Hex, http, keccak256, type LocalAccount, pad, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base, mainnet } from 'viem/chains'
const abi = parseAbi(['function quote(uint256 bid, uint256 ask)'])
const account = {} as LocalAccount
const accounts = [account]
const client = createWalletClient({ account, chain: base, transport: http() })
const baseClient = createPublicClient({ chain: base, transport: http() })
const mainnetClient = createPublicClient({ chain: mainnet, transport: http() })
const [address, to, key, data] = [{} as Address, {} as Address, {} as Hex, {} as Hex]
const [request, items, payouts] = [{ to, data }, [{ request: { to } }], [{ to }]]
const idempotencyKey = ''
const error: unknown = undefined
`

/**
 * The examples in the doc comments of the library. Each may use the module's own exports and `createSender`.
 */
export function docExamples(root: string): readonly Example[] {
  return readTexts('src').flatMap((source) =>
    [...source.text.matchAll(/^ +\* @example\n((?: +\*(?: .*)?\n)+?) *(?:\*\/| +\* @)/gm)].map(
      ([, block = ''], index) => {
        const body = block.replaceAll(/^ +\* ?/gm, '')
        const name = source.path.replaceAll(/\W/g, '-')
        return {
          heading: source.path,
          file: `${name}-${index}.ts`,
          text: `${importsFor(root, source)}${GIVEN}export async function example() {\n${body}}\n`,
        }
      },
    ),
  )
}

function importsFor(root: string, { path, text }: Pick<Source, 'path' | 'text'>): string {
  const own = [...text.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name)
  const from = `${root}${path.replace(/\.ts$/, '.js')}`
  const sender = own.includes('createSender') ? '' : "import { createSender } from 'txlane'\n"
  return `import { ${own.join(', ')} } from '${from}'\n${sender}`
}
