/**
 * Short names of chains before an address (EIP-3770), from the list of chains that the standard refers to.
 * `ethereum:` is the scheme of EIP-681.
 */
const SHORT_NAMES: Readonly<Record<string, number>> = {
  eth: 1,
  ethereum: 1,
  oeth: 10,
  bnb: 56,
  gno: 100,
  unichain: 130,
  matic: 137,
  pol: 137,
  sonic: 146,
  zksync: 324,
  wc: 480,
  zkevm: 1101,
  mantle: 5000,
  base: 8453,
  mode: 34443,
  arb1: 42161,
  celo: 42220,
  avax: 43114,
  ink: 57073,
  linea: 59144,
  blastmainnet: 81457,
  scr: 534352,
  sep: 11155111,
  hoe: 560048,
  basesep: 84532,
  'arb-sep': 421614,
  opsep: 11155420,
}

export function chainIdOf(shortName: string): number | undefined {
  return SHORT_NAMES[shortName.toLowerCase()]
}

/** `Base (8453)`. A chain without a name of its own is called by its id, once. */
export const chainText = ({ id, name }: { readonly id: number; readonly name: string }): string =>
  name.includes(`${id}`) ? name : `${name} (${id})`
