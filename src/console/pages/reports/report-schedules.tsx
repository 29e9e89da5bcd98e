import { Section } from '../../components/page.js';
import { Answered } from '../../components/wait.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatScheduleAddress } from '../../words/addresses.js';

interface ReportSchedulesProps {
  readonly templateId: string;
  /** Index of the template, for which a new schedule is proposed. */
  readonly index: string | null;
}

/** Renders the schedules that render a report template, and a link to a new schedule. */
export function ReportSchedules({ templateId, index }: ReportSchedulesProps) {
  const schedules = useResource('schedules', (signal) => service.value.call('listSchedules', { signal }));
  const address = formatAddress('/console/schedules/new', {
    template: templateId,
    ...(index === null ? {} : { index }),
  });
  return (
    <Section title="Schedules" aside={may('write') && <a href={address}>Schedule this report</a>}>
      <Answered resource={schedules} what="the schedules">
        {({ schedules: all }) => {
          const rendering = all.filter(({ steps }) =>
            steps.some((step) => step.type === 'render' && step.template_id === templateId),
          );
          if (rendering.length === 0) return <p class="quiet">No schedule renders this report.</p>;
          return (
            <ul aria-label="Schedules of this report">
              {rendering.map(({ schedule_id: id, name, at, calendar, enabled }) => (
                <li key={id}>
                  <a href={formatScheduleAddress(id)}>{name}</a>{' '}
                  <span class="quiet">{enabled ? `after each session of ${calendar}, at ${at}` : 'disabled'}</span>
                </li>
              ))}
            </ul>
          );
        }}
      </Answered>
    </Section>
  );
}
