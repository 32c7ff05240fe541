// Every check, by its id. The check of an id is an entry of cases.yaml, or the file of that name in checks/ with two lines here.
import { cases } from './cases.ts'
import type { Check } from './check.ts'
import { catalogNamesModels } from './checks/CAT-01.ts'
import { catalogHasTypes } from './checks/CAT-02.ts'
import { catalogIsConstant } from './checks/CAT-03.ts'
import { countsNeverSpend } from './checks/CNT-01.ts'
import { countsAreRight } from './checks/CNT-02.ts'
import { failedCountsCoolNothing } from './checks/CNT-03.ts'
import { manyCounts } from './checks/CNT-04.ts'
import { sameBody } from './checks/DIAL-01.ts'
import { unknownPartsArrive } from './checks/DIAL-02.ts'
import { sameStream } from './checks/DIAL-03.ts'
import { lossesAreNamed } from './checks/DIAL-04.ts'
import { toolIds } from './checks/DIAL-06.ts'
import { noForeignReasoning } from './checks/DIAL-07.ts'
import { sealedComesBack } from './checks/DIAL-08.ts'
import { vectorsArrive } from './checks/EMB-01.ts'
import { errorShape } from './checks/FAIL-01.ts'
import { malformedIs4xx } from './checks/FAIL-02.ts'
import { bodyLimit } from './checks/FAIL-03.ts'
import { brokenProvider } from './checks/FAIL-05.ts'
import { hostileSequence } from './checks/FAIL-06.ts'
import { completeOnceInOrder } from './checks/FLOW-01.ts'
import { eventsAreNotHeldBack } from './checks/FLOW-03.ts'
import { leavingClosesUpstream } from './checks/FLOW-05.ts'
import { lateErrorArrives } from './checks/FLOW-09.ts'
import { slowClientSlowsUpstream } from './checks/FLOW-10.ts'
import { secretsStayInside } from './checks/KEEP-01.ts'
import { keysDoNotCross } from './checks/KEEP-02.ts'
import { keysAreRequired } from './checks/KEEP-03.ts'
import { keysAreWalls } from './checks/KEEP-04.ts'
import { publicMetadata } from './checks/KEEP-05.ts'
import { foreignOrigins } from './checks/KEEP-06.ts'
import { killLosesNothing } from './checks/LIFE-01.ts'
import { termDrains } from './checks/LIFE-02.ts'
import { capsHold } from './checks/LIFE-03.ts'
import { secondProcess } from './checks/LIFE-05.ts'
import { reload } from './checks/LIFE-07.ts'
import { oneRecordPerCall } from './checks/LOG-01.ts'
import { recordNamesTheRoute } from './checks/LOG-02.ts'
import { fromRoutingTime } from './checks/LOG-03.ts'
import { finalInTime } from './checks/LOG-04.ts'
import { failuresListAttempts } from './checks/LOG-05.ts'
import { leftIsNotCompleted } from './checks/LOG-06.ts'
import { nothingUnrecorded } from './checks/LOG-07.ts'
import { sessionSurvives } from './checks/LOG-08.ts'
import { pagesWithoutGaps } from './checks/LOG-09.ts'
import { sumsAddUp } from './checks/LOG-10.ts'
import { noContentInLists } from './checks/LOG-12.ts'
import { anyQuery } from './checks/MSG-01.ts'
import { eventOrder } from './checks/MSG-02.ts'
import { blockIndexes } from './checks/MSG-03.ts'
import { inputIsJson } from './checks/MSG-04.ts'
import { thinkingUnchanged } from './checks/MSG-05.ts'
import { endsAreTranslated } from './checks/MSG-06.ts'
import { inputHoldsTheCache } from './checks/MSG-07.ts'
import { streamHasUsage } from './checks/MSG-08.ts'
import { usageIsMerged } from './checks/MSG-09.ts'
import { errorsOfMessages } from './checks/MSG-11.ts'
import { retryWords } from './checks/MSG-13.ts'
import { lateErrorEvent } from './checks/MSG-14.ts'
import { wholeAnswers } from './checks/MSG-15.ts'
import { imagesInResults } from './checks/MSG-17.ts'
import { cacheControl } from './checks/MSG-18.ts'
import { clientLine } from './checks/MSG-19.ts'
import { helloIsNoCall } from './checks/MSG-21.ts'
import { modelsInItsShape } from './checks/MSG-22.ts'
import { readsNeverSpend } from './checks/PURE-01.ts'
import { startAndIdle } from './checks/PURE-02.ts'
import { readsAskNobody } from './checks/PURE-03.ts'
import { resolvingMovesNothing } from './checks/PURE-04.ts'
import { readsWriteNothing } from './checks/PURE-05.ts'
import { otherMethods } from './checks/PURE-06.ts'
import { refusedCallsSpendNothing } from './checks/PURE-07.ts'
import { everyInferenceIsExplained } from './checks/PURE-08.ts'
import { unknownIds } from './checks/ROUTE-03.ts'
import { knownFields } from './checks/ROUTE-05.ts'
import { fallbackConditions } from './checks/ROUTE-07.ts'
import { nothingAfterCommit } from './checks/ROUTE-08.ts'
import { coolingIsHonoured } from './checks/ROUTE-09.ts'
import { strategies } from './checks/ROUTE-10.ts'
import { resolveEqualsPick } from './checks/ROUTE-11.ts'
import { capabilities } from './checks/ROUTE-12.ts'
import { responseEvents } from './checks/RSP-01.ts'
import { itemsAreDone } from './checks/RSP-02.ts'
import { responsesEnd } from './checks/RSP-03.ts'
import { encryptedUnchanged } from './checks/RSP-04.ts'
import { previousResponse } from './checks/RSP-06.ts'
import { upgradesAreAnswered } from './checks/RSP-08.ts'
import { turnState } from './checks/RSP-11.ts'
import { compactionIsNative } from './checks/RSP-12.ts'
import { kindsOnRecord } from './checks/RSP-13.ts'
import { refusedReasoning } from './checks/RSP-14.ts'
import { headersAfterFallback } from './checks/TELL-02.ts'
import { idFindsTheRecord } from './checks/TELL-03.ts'
import { closedSets } from './checks/TELL-04.ts'
import { hostileNames } from './checks/TELL-06.ts'
import { usageIsOnRecord } from './checks/USE-02.ts'
import { streamUsageAsAsked } from './checks/USE-03.ts'
import { unknownIsNull } from './checks/USE-04.ts'
import { tokenKinds } from './checks/USE-05.ts'
import { halfWay } from './checks/USE-07.ts'
import { cacheIsFreeAndPrivate } from './checks/USE-08.ts'
import { type Further, ON } from './on-surfaces.ts'

const all: readonly Check[] = [
  ...cases,
  readsNeverSpend,
  startAndIdle,
  readsAskNobody,
  resolvingMovesNothing,
  readsWriteNothing,
  otherMethods,
  refusedCallsSpendNothing,
  everyInferenceIsExplained,
  unknownIds,
  knownFields,
  fallbackConditions,
  nothingAfterCommit,
  coolingIsHonoured,
  strategies,
  resolveEqualsPick,
  capabilities,
  headersAfterFallback,
  idFindsTheRecord,
  closedSets,
  hostileNames,
  oneRecordPerCall,
  recordNamesTheRoute,
  fromRoutingTime,
  finalInTime,
  failuresListAttempts,
  leftIsNotCompleted,
  nothingUnrecorded,
  sessionSurvives,
  pagesWithoutGaps,
  sumsAddUp,
  noContentInLists,
  usageIsOnRecord,
  streamUsageAsAsked,
  unknownIsNull,
  tokenKinds,
  halfWay,
  cacheIsFreeAndPrivate,
  completeOnceInOrder,
  eventsAreNotHeldBack,
  leavingClosesUpstream,
  lateErrorArrives,
  slowClientSlowsUpstream,
  secretsStayInside,
  keysDoNotCross,
  keysAreRequired,
  keysAreWalls,
  publicMetadata,
  foreignOrigins,
  errorShape,
  malformedIs4xx,
  bodyLimit,
  brokenProvider,
  hostileSequence,
  killLosesNothing,
  termDrains,
  capsHold,
  secondProcess,
  reload,
  catalogNamesModels,
  catalogHasTypes,
  catalogIsConstant,
  sameBody,
  unknownPartsArrive,
  sameStream,
  anyQuery,
  eventOrder,
  blockIndexes,
  inputIsJson,
  thinkingUnchanged,
  errorsOfMessages,
  retryWords,
  lateErrorEvent,
  responseEvents,
  itemsAreDone,
  responsesEnd,
  encryptedUnchanged,
  previousResponse,
  vectorsArrive,
  countsNeverSpend,
  manyCounts,
  countsAreRight,
  failedCountsCoolNothing,
  lossesAreNamed,
  toolIds,
  noForeignReasoning,
  sealedComesBack,
  endsAreTranslated,
  inputHoldsTheCache,
  streamHasUsage,
  usageIsMerged,
  wholeAnswers,
  imagesInResults,
  cacheControl,
  clientLine,
  helloIsNoCall,
  modelsInItsShape,
  upgradesAreAnswered,
  turnState,
  compactionIsNative,
  kindsOnRecord,
  refusedReasoning,
]

export const checks: ReadonlyMap<string, Check> = new Map(
  (all as readonly Check[]).flatMap((check) => [
    [check.id, check] as const,
    ...(Object.keys(ON) as Further[])
      .filter((surface) => ON[surface].includes(check.id))
      .map((surface) => {
        const id = `${check.id}@${surface}`
        return [id, { ...check, id, surface }] as const
      }),
  ]),
)
