import { house } from './harness.js'
import {
  floorsPointDownwards,
  functionsAreShort,
  noBagIsHandedAround,
  noCircleOfFolders,
  oldWordsDoNotComeBack,
} from './structure.js'

const a = 'export type A = number'

house('imports of the library point downwards, types counted', floorsPointDownwards, {
  broken: [
    [{ 'src/ledger/a.ts': "import type { A } from '../rpc/a.js'" }, 'src/ledger/a.ts:1 imports src/rpc/a.ts'],
    [{ 'src/lane/queue/a.ts': "import { a } from '../signing/a.js'" }, 'imports src/lane/signing/a.ts'],
    [{ 'src/chain/endpoints/a.ts': "import type { A } from '../../lane/a.js'" }, 'imports src/lane/a.ts'],
    [{ 'src/api/sender/a.ts': "const a = await import('../pool/a.js')" }, 'imports src/api/pool/a.ts'],
    [{ 'src/errors/a.ts': "export { a } from '../index.js'" }, 'imports src/index.ts'],
    [{ 'src/api/a.ts': "import { a } from '../../tools/cli/a.js'" }, 'imports tools/cli/a.ts'],
    [{ 'src/unknown/a.ts': a }, 'src/unknown/a.ts: the folder has no floor'],
  ],
  fine: [
    { 'src/lane/signing/a.ts': "import type { A } from '../queue/a.js'" },
    { 'src/lane/queue/deep/a.ts': "import { a } from '../b.js'" },
    { 'src/lane/queue/a.test.ts': "import { a } from '../../api/sender/sender.js'" },
    { 'src/index.ts': "export { a } from './api/a.js'" },
  ],
})

house('folders form no circle, types counted', noCircleOfFolders, {
  broken: [
    [
      {
        'src/a/x.ts': "import type { B } from '../b/y.js'",
        'src/b/y.ts': "import { A } from '../a/z.js'",
        'src/a/z.ts': a,
      },
      'src/b/y.ts:1 imports src/a/z.ts',
    ],
    [
      {
        'tools/a/x.ts': "import '../b/x.js'",
        'tools/b/x.ts': "import '../c/x.js'",
        'tools/c/x.ts': "import '../a/x.js'",
      },
      'tools/c/x.ts:1 imports tools/a/x.ts',
    ],
  ],
  fine: [
    { 'src/a/x.ts': "import '../b/y.js'", 'src/b/y.ts': a, 'src/b/z.test.ts': "import '../a/x.js'" },
    { 'src/a/x.ts': "import './y.js'", 'src/a/y.ts': "import './x.js'" },
  ],
})

const long = (lines: number) => `export function f() {\n${'  g()\n'.repeat(lines - 2)}}`

house('a function has at most 120 lines', functionsAreShort, {
  broken: [
    [{ 'src/a.ts': long(121) }, 'src/a.ts:1 f has 121 lines'],
    [{ 'bench/a.ts': `const f = () => {\n${'  g()\n'.repeat(120)}}` }, 'has 122 lines'],
  ],
  fine: [{ 'src/a.ts': long(120) }, { 'src/a.test.ts': long(500) }],
})

const PARTS = ['A', 'B', 'C', 'D', 'E', 'F', 'G']
const bag = (members: readonly string[]) =>
  `import type { ${members.join(', ')} } from './parts.js'\nexport type Bag = { ${members.map((m) => `readonly ${m.toLowerCase()}: ${m}`).join('; ')} }`
const users = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `src/lane/u${index}.ts`,
      "import type { Bag } from './bag.js'\nexport function use(bag: Bag) {}",
    ]),
  )

house('no bag of parts is handed to many files', noBagIsHandedAround, {
  broken: [
    [
      { 'src/lane/bag.ts': bag(PARTS), ...users(6) },
      'src/lane/bag.ts: Bag has 7 members and is handed to 6 files',
    ],
  ],
  fine: [
    { 'src/lane/bag.ts': bag(PARTS), ...users(5) },
    { 'src/lane/bag.ts': bag(PARTS.slice(1)), ...users(9) },
    {
      'src/lane/bag.ts': bag(PARTS),
      ...Object.fromEntries(
        Object.entries(users(9)).map(([path, text]) => [
          path,
          text.replace('bag: Bag', "bag: Pick<Bag, 'a'>"),
        ]),
      ),
    },
  ],
})

house('words of the old vocabulary do not come back', oldWordsDoNotComeBack, {
  broken: [
    [{ 'src/ownership/tenure.ts': a }, 'is named tenure'],
    [{ 'src/a.ts': 'const hub = 1' }, 'src/a.ts:1 declares hub'],
    [{ 'src/a.ts': 'export function openHub() {}' }, 'declares openHub'],
    [{ 'src/a.ts': 'export type LaneGuest = { seat: number }' }, 'declares seat'],
    [{ 'src/a.ts': 'const HUBS_MAX = 1' }, 'declares HUBS_MAX'],
    [{ 'src/a.ts': "export type State = 'told' | 'open'" }, 'declares told'],
    [{ 'src/a.ts': 'const { told } = delivery' }, 'declares told'],
    [{ 'src/a.ts': 'class A { #told = 1 }' }, 'declares #told'],
    [{ 'test/sim/tells.ts': a }, 'is named tells'],
    [{ 'test/sim/a.ts': 'export type Telling = { toldMs: number }' }, 'test/sim/a.ts:1 declares toldMs'],
    [{ 'test/a.test.ts': 'const UNTOLD = 8' }, 'declares UNTOLD'],
  ],
  fine: [
    { 'src/a.ts': 'const github = 1; const hubris = 2; const intelligible = 3' },
    { 'test/a.ts': "const seats = 1; const names = { told: 'delivered' }" },
  ],
})
