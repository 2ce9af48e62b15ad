//! Rows of a recording out of what files tell.

use super::Texts;
use super::columns::Subject;
use super::lanes::{COUNTER_MAX, Lane, Sums, Thing};
use super::parsed_file::Section;
use super::resolve_times::Placed;
use crate::ImportError;
use crate::options::ImportSummary;
use crate::printed::seconds;
use crate::provenance::{events, imported_manifest};
use quantity::text::format_ns;
use recording::rows::{Cpu, Disk, Event, Figure, Memory, Net, Pressure, Process, System, Tcp, Udp};
use recording::{ClockAnchor, Label, Row, RowBatch, Sink, Writer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::Path;

/// Rows of one batch.
const BATCH: usize = 8 << 10;

/// Which files tell of a thing of a subject.
type Owners = BTreeMap<(Subject, String), Vec<usize>>;

/// Writes all of it.
pub(super) fn write(
    texts: &Texts,
    files: &[Placed],
    directory: &Path,
    command_line: &[String],
) -> Result<ImportSummary, ImportError> {
    let first = files.iter().flat_map(|file| file.times.iter().flatten().copied()).min();
    let of_events = files.iter().flat_map(|file| file.parsed.events.iter().map(|(at, _)| *at)).min();
    let steps = files.iter().flat_map(|file| file.steps.iter()).copied().max().unwrap_or(0);
    // A first interval begins one step before its block.
    let origin_ns =
        [first.map(|first_ns| first_ns.saturating_sub(steps)), of_events].into_iter().flatten().min().unwrap_or(0);
    let owners = owners(files);
    let mut notes = notes(texts, files, &owners);
    let mut manifest = imported_manifest(command_line);
    manifest.started_wall_ns = origin_ns;
    manifest.clock_anchors = vec![ClockAnchor { t_ns: 0, wall_ns: origin_ns }];
    if let Some(host) = files.iter().find_map(|file| file.parsed.host.clone()) {
        manifest.host = host;
    }
    manifest.kernel = files.iter().find_map(|file| file.parsed.system.clone()).unwrap_or_default();
    let formats: BTreeSet<&'static str> = files.iter().map(|file| file.parsed.tool).collect();
    let shown = texts.path.display().to_string();
    let program = formats.iter().copied().collect::<Vec<&str>>().join(", ");
    let mut output =
        Output { writer: Writer::create(directory, manifest)?, notes: BTreeSet::new(), origin_ns, end_ns: 0 };
    output.tables(files, &owners)?;
    output.figures(files, &owners)?;
    output.happened(files)?;
    notes.extend(output.notes);
    notes.sort();
    let facts = serde_json::json!({"format": program, "program": program, "path": shown, "notes": notes});
    let mut writer = output.writer;
    writer.update_manifest(|manifest| {
        manifest.extra.insert("imported".to_string(), facts);
    })?;
    writer.accept(&RowBatch::from_rows(&events(
        output.end_ns,
        format!("imported from {shown} ({program})"),
        &notes,
    ))?)?;
    writer.commit()?;
    let format = files.first().map_or("", |file| file.parsed.tool);
    Ok(ImportSummary { directory: writer.seal_past()?, format, notes })
}

/// Everything that is to be said, with the file's name where there are several.
fn notes(texts: &Texts, files: &[Placed], owners: &Owners) -> Vec<String> {
    let mut notes = Vec::new();
    let several = files.len() > 1 || !texts.unknown.is_empty();
    for (index, file) in files.iter().enumerate() {
        let name = file.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let before = if several { format!("{name}: ") } else { String::new() };
        notes.extend(file.parsed.notes.iter().map(|note| format!("{before}{note}")));
        notes.extend(file.parsed.tallies.iter().map(|(what, count)| format!("{before}{what}: {count}")));
        let begins = |section: &Section| {
            let mut blocks = section.blocks.iter().enumerate();
            section.blocks.len() > 1
                && section.has_rates()
                && blocks.any(|(at, block)| block.is_start && has_rows(section, at))
        };
        if file.parsed.sections.iter().any(begins) {
            notes.push(format!(
                "{before}its first sample is the mean since boot, and no interval: its rates were left out"
            ));
        }
        let only = |section: &Section| section.blocks.len() == 1 && section.blocks[0].is_start && section.has_rates();
        if let Some(at) = file.parsed.sections.iter().position(only) {
            let length = format_ns(file.steps[at].unsigned_abs());
            notes.push(format!("{before}there is one sample only, probably the mean since boot: it was taken for an interval of {length}"));
        }
        let lost: BTreeSet<&str> = owners
            .iter()
            .filter(|((subject, thing), owner)| !owner.contains(&index) && tells(file, *subject, thing))
            .map(|((subject, _), _)| subject.table())
            .collect();
        if !lost.is_empty() {
            let lost: Vec<&str> = lost.into_iter().collect();
            notes.push(format!(
                "{before}another file tells more of {}: what this one tells is in the table figure",
                lost.join(", ")
            ));
        }
    }
    for path in &texts.unknown {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        notes.push(format!("{name}: unknown format; it was left out"));
    }
    notes
}

fn has_rows(section: &Section, block: usize) -> bool {
    let block = u32::try_from(block).unwrap_or(u32::MAX);
    section.series.values().any(|series| series.blocks.binary_search(&block).is_ok())
}

fn tells(file: &Placed, subject: Subject, thing: &str) -> bool {
    file.parsed.sections.iter().any(|section| section.subject == Some(subject) && section.series.contains_key(thing))
}

/// Of each thing, the files whose figures become its rows: those of the tool that fills most columns, one after the other in time.
fn owners(files: &[Placed]) -> Owners {
    let mut tellers: BTreeMap<(Subject, String), Vec<(usize, usize)>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        let mut keys: BTreeMap<(Subject, &String), BTreeSet<&'static str>> = BTreeMap::new();
        for section in &file.parsed.sections {
            let Some(subject) = section.subject else { continue };
            let filled = section.columns.iter().flat_map(|column| &column.specs).filter(|spec| spec.how.fills());
            let filled: BTreeSet<&'static str> = filled.map(|spec| spec.key).collect();
            for thing in section.series.keys() {
                keys.entry((subject, thing)).or_default().extend(&filled);
            }
        }
        // A thing whose required columns are incomplete has no rows: its values go to the table figure.
        keys.retain(|(subject, _), filled| subject.required().iter().all(|key| filled.contains(key)));
        for ((subject, thing), filled) in keys {
            tellers.entry((subject, thing.clone())).or_default().push((filled.len(), index));
        }
    }
    tellers
        .into_iter()
        .map(|((subject, thing), mut found)| {
            found.sort_by_key(|(filled, index)| (Reverse(*filled), *index));
            let tool = files[found[0].1].parsed.tool;
            let mut chosen: Vec<(i64, i64, usize)> = Vec::new();
            for (_, index) in found.iter().filter(|(_, index)| files[*index].parsed.tool == tool) {
                let Some((from_ns, to_ns)) = span(&files[*index], subject, &thing) else { continue };
                if chosen.iter().all(|(from, to, _)| to_ns <= *from || from_ns >= *to) {
                    chosen.push((from_ns, to_ns, *index));
                }
            }
            chosen.sort_unstable();
            ((subject, thing), chosen.into_iter().map(|(_, _, index)| index).collect())
        })
        .collect()
}

/// First and last time at which a file tells of a thing.
fn span(file: &Placed, subject: Subject, thing: &str) -> Option<(i64, i64)> {
    let of = file.parsed.sections.iter().zip(&file.times);
    let times = of
        .filter(|(section, _)| section.subject == Some(subject) && section.series.contains_key(thing))
        .filter_map(|(_, times)| Some((*times.first()?, *times.last()?)));
    times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// A counter or gauge as a whole number.
#[expect(clippy::cast_possible_truncation, reason = "held below 2^63 just before")]
fn get(sums: &Sums, key: &str) -> Option<i64> {
    sums.get(key).map(|value| value.round().clamp(0.0, COUNTER_MAX) as i64)
}

/// Builds a row from sums: fields that are given, then columns of their names.
macro_rules! row {
    ($row:ident, $t:expr, $sums:expr, { $($field:ident: $value:expr),* }, [$($key:ident),*]) => {
        $row { t_ns: $t, t_s: seconds($t), $($field: $value,)* $($key: get($sums, stringify!($key)),)* }
    };
}

struct Output {
    writer: Writer,
    /// What came to light on the way.
    notes: BTreeSet<String>,
    origin_ns: i64,
    end_ns: i64,
}

impl Output {
    fn tables(&mut self, files: &[Placed], owners: &Owners) -> Result<(), ImportError> {
        for subject in Subject::ALL {
            let mut things = Vec::new();
            for ((_, name), owner) in owners.iter().filter(|((of, _), _)| *of == subject) {
                // What fills a column first fills it to the end.
                let mut lanes = Vec::new();
                for index in owner {
                    let mut taken = BTreeSet::new();
                    let sections = 0..files[*index].parsed.sections.len();
                    let found = sections.filter(|at| files[*index].parsed.sections[*at].subject == Some(subject));
                    lanes.extend(found.filter_map(|at| Lane::new(&files[*index], at, name, &mut taken)));
                }
                let mut thing = Thing::new(name, lanes);
                if subject == Subject::Net
                    && let Some(link) = super::link::of(files, owner, name)
                {
                    thing.set("speed_bits_per_s", link.bits_per_s);
                    if link.is_full {
                        thing.set("full_duplex", 1.0);
                    } else {
                        self.notes.insert(format!(
                            "{name}: %Util is that of both directions together, which old versions of nicstat print for every link: the duplex mode is unknown"
                        ));
                    }
                }
                things.push(thing);
            }
            match subject {
                Subject::Cpu => self.rows(things, cpu)?,
                Subject::System => self.rows(things, system)?,
                Subject::Memory => self.rows(things, memory)?,
                Subject::Pressure => self.rows(things, pressure)?,
                Subject::Disk => self.rows(things, disk)?,
                Subject::Net => self.rows(things, net)?,
                Subject::Tcp => self.rows(things, tcp)?,
                Subject::Udp => self.rows(things, udp)?,
                Subject::Process => self.rows(things, process)?,
            }
        }
        Ok(())
    }

    /// Rows of all things of a subject, in the order of time.
    fn rows<R: Row>(&mut self, mut things: Vec<Thing<'_>>, make: fn(&str, i64, &Sums) -> R) -> Result<(), ImportError> {
        let next = |(at, thing): (usize, &Thing<'_>)| thing.next_ns().map(|t_ns| Reverse((t_ns, at)));
        let mut queue: BinaryHeap<Reverse<(i64, usize)>> = things.iter().enumerate().filter_map(next).collect();
        let mut rows = Vec::new();
        while let Some(Reverse((_, at))) = queue.pop() {
            let thing = &mut things[at];
            let name = thing.name.clone();
            if let Some((t_ns, sums)) = thing.next() {
                let t_ns = t_ns.saturating_sub(self.origin_ns);
                self.end_ns = self.end_ns.max(t_ns);
                rows.push(make(&name, t_ns, sums));
            }
            queue.extend(thing.next_ns().map(|t_ns| Reverse((t_ns, at))));
            if rows.len() >= BATCH {
                self.put(&mut rows)?;
            }
        }
        for thing in things.iter().filter(|thing| thing.is_clipped) {
            self.notes.insert(format!(
                "{}: a figure is beyond what a table holds (2⁶³), where its counter stays",
                if thing.name.is_empty() { R::TABLE.name } else { &thing.name }
            ));
        }
        self.put(&mut rows)
    }

    fn put<R: Row>(&mut self, rows: &mut Vec<R>) -> Result<(), ImportError> {
        if !rows.is_empty() {
            self.writer.accept(&RowBatch::from_rows(rows)?)?;
            self.writer.commit()?;
            rows.clear();
        }
        Ok(())
    }

    /// What no table has a place for, as it was printed.
    fn figures(&mut self, files: &[Placed], owners: &Owners) -> Result<(), ImportError> {
        let mut rows = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let tool = Label::from(file.parsed.tool);
            for (section, times) in file.parsed.sections.iter().zip(&file.times) {
                let names: Vec<Label> =
                    section.columns.iter().map(|column| Label::from(column.name.as_str())).collect();
                let owns = |thing: &str| {
                    let owner = section.subject.and_then(|subject| owners.get(&(subject, thing.to_string())));
                    owner.is_some_and(|owner| owner.contains(&index))
                };
                let things: Vec<_> = section
                    .series
                    .iter()
                    .map(|(name, series)| (Label::from(name.as_str()), owns(name), series))
                    .collect();
                let mut next = vec![0_usize; things.len()];
                for (block, t_ns) in times.iter().enumerate() {
                    let interval_ns = (!section.blocks[block].is_start && block > 0).then(|| t_ns - times[block - 1]);
                    let t_ns = t_ns.saturating_sub(self.origin_ns);
                    for ((thing, is_owned, series), next) in things.iter().zip(&mut next) {
                        if series.blocks.get(*next).is_none_or(|row_block| *row_block as usize != block) {
                            continue;
                        }
                        let cells = &series.cells[*next * names.len()..][..names.len()];
                        *next += 1;
                        for ((name, column), value) in names.iter().zip(&section.columns).zip(cells) {
                            if value.is_nan() || (*is_owned && !column.is_figure()) {
                                continue;
                            }
                            rows.push(Figure {
                                t_ns,
                                t_s: seconds(t_ns),
                                interval_ns,
                                tool: tool.clone(),
                                thing: thing.clone(),
                                name: name.clone(),
                                value: Some(*value),
                                text: None,
                            });
                        }
                    }
                    self.end_ns = self.end_ns.max(t_ns);
                    if rows.len() >= BATCH {
                        self.put(&mut rows)?;
                    }
                }
                rows.extend(section.texts.iter().map(|(block, thing, column, text)| {
                    let t_ns = times[*block as usize].saturating_sub(self.origin_ns);
                    Figure {
                        t_ns,
                        t_s: seconds(t_ns),
                        interval_ns: None,
                        tool: tool.clone(),
                        thing: Label::from(thing.as_str()),
                        name: names[*column].clone(),
                        value: None,
                        text: Some(Label::from(text.as_str())),
                    }
                }));
            }
        }
        self.put(&mut rows)
    }

    /// What happened.
    fn happened(&mut self, files: &[Placed]) -> Result<(), ImportError> {
        let mut found: Vec<Event> = Vec::new();
        for file in files {
            for (at, event) in &file.parsed.events {
                let t_ns = at.saturating_sub(self.origin_ns);
                self.end_ns = self.end_ns.max(t_ns);
                found.push(Event { t_ns, t_s: seconds(t_ns), ..event.clone() });
            }
        }
        found.sort_by_key(|event| event.t_ns);
        self.put(&mut found)
    }
}

fn cpu(name: &str, t: i64, sums: &Sums) -> Cpu {
    let must = |key| get(sums, key).unwrap_or(0);
    row!(Cpu, t, sums, {
        cpu: name.to_string(), user_ns: must("user_ns"), system_ns: must("system_ns"), idle_ns: must("idle_ns"),
        clock: "imported".to_string()
    }, [nice_ns, iowait_ns, irq_ns, softirq_ns, steal_ns])
}

fn system(_: &str, t: i64, sums: &Sums) -> System {
    row!(System, t, sums, { load_1m: sums.get("load_1m").copied() }, [
        context_switches, interrupts, forks, runnable, blocked, softnet_drops, softnet_squeezed
    ])
}

fn memory(_: &str, t: i64, sums: &Sums) -> Memory {
    row!(
        Memory,
        t,
        sums,
        {},
        [
            total_bytes,
            free_bytes,
            available_bytes,
            cached_bytes,
            anonymous_bytes,
            slab_bytes,
            dirty_bytes,
            writeback_bytes,
            swap_total_bytes,
            swap_free_bytes,
            page_in_bytes,
            page_out_bytes,
            swap_in_pages,
            swap_out_pages,
            faults,
            major_faults,
            file_refaults,
            direct_reclaimed,
            oom_kills
        ]
    )
}

fn pressure(name: &str, t: i64, sums: &Sums) -> Pressure {
    row!(Pressure, t, sums, { resource: name.to_string() }, [some_ns, full_ns])
}

fn disk(name: &str, t: i64, sums: &Sums) -> Disk {
    row!(Disk, t, sums, { device: name.to_string(), target: String::new() }, [
        read_ios, read_merges, read_sectors, read_ticks_ms, write_ios, write_merges, write_sectors, write_ticks_ms,
        in_flight, io_ticks_ms, weighted_ticks_ms, discard_ios, discard_merges, discard_sectors, discard_ticks_ms,
        flush_ios, flush_ticks_ms, any_ios, any_sectors
    ])
}

fn net(name: &str, t: i64, sums: &Sums) -> Net {
    let must = |key| get(sums, key).unwrap_or(0);
    row!(Net, t, sums, {
        interface: name.to_string(), rx_bytes: must("rx_bytes"), tx_bytes: must("tx_bytes"),
        full_duplex: sums.get("full_duplex").map(|full| *full > 0.5), up: None, qdisc: None, master: None
    }, [
        rx_packets, rx_errors, rx_drops, rx_fifo, rx_frame, rx_multicast, tx_packets, tx_errors, tx_drops, tx_fifo,
        tx_collisions, tx_carrier, speed_bits_per_s, qdisc_backlog_bytes, qdisc_drops, qdisc_overlimits, qdisc_requeues,
        qdisc_rate_bits_per_s, mtu_bytes
    ])
}

fn tcp(_: &str, t: i64, sums: &Sums) -> Tcp {
    row!(
        Tcp,
        t,
        sums,
        {},
        [
            in_segments,
            out_segments,
            retransmits,
            in_errors,
            active_opens,
            passive_opens,
            attempt_fails,
            established_resets,
            resets_sent,
            established,
            listen_overflows,
            listen_drops,
            timeouts,
            syn_retransmits,
            request_queue_drops,
            request_queue_cookies
        ]
    )
}

fn udp(_: &str, t: i64, sums: &Sums) -> Udp {
    row!(
        Udp,
        t,
        sums,
        {},
        [in_datagrams, out_datagrams, no_ports, in_errors, receive_buffer_errors, send_buffer_errors]
    )
}

fn process(name: &str, t: i64, sums: &Sums) -> Process {
    let (pid, comm) = name.split_once(' ').unwrap_or((name, ""));
    row!(Process, t, sums, { pid: pid.parse().unwrap_or(0), comm: comm.trim().to_string(), state: None }, [
        start_ns, parent, threads, user_ns, system_ns, resident_bytes, major_faults, minor_faults, io_delay_ns, read_bytes, write_bytes
    ])
}
