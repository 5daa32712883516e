//! A file system that forgets what was not synced, and fails or crashes at any call it is told.
//!
//! What a process sees and what the disk holds are two things. Each change waits between them until a sync of its file or
//! directory, and a crash keeps whichever of those that wait it likes: see [`Double::images`].

use super::super::fs::{Claim, Fs};
use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// One call that the store made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
}

/// What goes wrong, and at which call, counted from 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Plan {
    /// The process dies before this call, and that is after the one before.
    pub(super) crash: Option<usize>,
    /// This call fails. A write leaves half of its bytes. The sync of a file loses for good what it should have kept,
    /// though it can be read; that of a directory does not, since its journal tries again or nothing works any more.
    pub(super) fail: Option<(usize, io::ErrorKind)>,
    /// This sync only claims to be done.
    pub(super) ignore: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Inode {
    File(Vec<u8>),
    Dir(BTreeMap<String, usize>),
}

/// A change of an inode, small enough to be kept or lost on its own.
#[derive(Clone, Debug)]
enum Change {
    Bytes(usize, Vec<u8>),
    Name(String, usize),
    NoName(String),
    /// A name that takes the place of another.
    Renamed(String, String, usize),
}

impl Inode {
    fn take(&mut self, change: &Change) {
        match (self, change) {
            (Inode::File(content), Change::Bytes(offset, bytes)) => {
                let end = offset + bytes.len();
                content.resize(content.len().max(end), 0);
                content[*offset..end].copy_from_slice(bytes);
            }
            (Inode::Dir(names), Change::Name(name, inode)) => drop(names.insert(name.clone(), *inode)),
            (Inode::Dir(names), Change::NoName(name)) => drop(names.remove(name)),
            (Inode::Dir(names), Change::Renamed(from, to, inode)) => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
            (Inode::File(_), _) | (Inode::Dir(_), Change::Bytes(..)) => panic!("a file is no directory: {change:?}"),
        }
    }

    fn names(&self) -> io::Result<&BTreeMap<String, usize>> {
        match self {
            Inode::Dir(names) => Ok(names),
            Inode::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }
}

/// What is on a disk when nothing waits; the first inode is the root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Image(Vec<Inode>);

impl Image {
    pub(super) fn empty() -> Self {
        Image(vec![Inode::Dir(BTreeMap::new())])
    }
}

struct World {
    durable: Vec<Inode>,
    visible: Vec<Inode>,
    /// Which inode each change that is not durable belongs to, oldest first.
    waiting: Vec<(usize, Change)>,
    calls: Vec<Call>,
    plan: Plan,
}

/// What the call in hand is to do.
enum Turn {
    Act,
    Ignore,
    Fail(io::ErrorKind),
}

/// The file system. Clones are the same one.
#[derive(Clone)]
pub(super) struct Double(Rc<RefCell<World>>);

impl World {
    /// Notes a call, and tells whether it is carried out, fails or is ignored.
    fn turn(&mut self, name: &'static str, path: &Path) -> io::Result<Turn> {
        let number = self.calls.len();
        if self.plan.crash.is_some_and(|crash| crash <= number) {
            return Err(io::Error::other("the process is dead"));
        }
        self.calls.push(Call { name, path: path.into() });
        match self.plan {
            Plan { fail: Some((at, kind)), .. } if at == number => Ok(Turn::Fail(kind)),
            Plan { ignore: Some(at), .. } if at == number => Ok(Turn::Ignore),
            Plan { .. } => Ok(Turn::Act),
        }
    }

    /// Like `turn`, for a call that does nothing when it fails.
    fn all_or_nothing(&mut self, name: &'static str, path: &Path) -> io::Result<()> {
        match self.turn(name, path)? {
            Turn::Fail(kind) => Err(kind.into()),
            Turn::Act | Turn::Ignore => Ok(()),
        }
    }

    /// The name that an inode has at the moment.
    fn path_of(&self, inode: usize) -> PathBuf {
        let names = self.visible.iter().filter_map(|dir| dir.names().ok()).flatten();
        names.filter(|(_, named)| **named == inode).map(|(name, _)| PathBuf::from(name)).next().unwrap_or_default()
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        let mut inode = 0;
        for part in path.iter().skip(1) {
            let names = self.visible[inode].names()?;
            inode = *names.get(part.to_str().expect("tests use plain names")).ok_or(io::ErrorKind::NotFound)?;
        }
        Ok(inode)
    }

    /// The directory that a path is in, and its name there.
    fn place(&self, path: &Path) -> io::Result<(usize, String)> {
        let parent = self.find(path.parent().expect("no path of the store is the root"))?;
        let name = path.file_name().and_then(|name| name.to_str()).expect("tests use plain names");
        Ok((parent, name.to_string()))
    }

    fn change(&mut self, inode: usize, change: Change) {
        self.visible[inode].take(&change);
        self.waiting.push((inode, change));
    }

    fn make(&mut self, path: &Path, inode: Inode) -> io::Result<usize> {
        let (parent, name) = self.place(path)?;
        if self.visible[parent].names()?.contains_key(&name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let empty = match &inode {
            Inode::File(_) => Inode::File(Vec::new()),
            Inode::Dir(_) => Inode::Dir(BTreeMap::new()),
        };
        self.visible.push(inode);
        self.durable.push(empty);
        let made = self.visible.len() - 1;
        self.change(parent, Change::Name(name, made));
        Ok(made)
    }

    fn sync(&mut self, inode: usize, turn: &Turn) -> io::Result<()> {
        let (durable, is_file) = (&mut self.durable[inode], matches!(self.visible[inode], Inode::File(_)));
        let changes = self.waiting.iter().filter(|(owner, _)| *owner == inode);
        match turn {
            Turn::Act => changes.for_each(|(_, change)| durable.take(change)),
            Turn::Fail(_) if is_file => {}
            Turn::Fail(kind) => return Err((*kind).into()),
            Turn::Ignore => return Ok(()),
        }
        self.waiting.retain(|(owner, _)| *owner != inode);
        if let Turn::Fail(kind) = turn { Err((*kind).into()) } else { Ok(()) }
    }

    /// What the disk holds if of the changes that wait these are kept.
    fn image(&self, kept: impl IntoIterator<Item = (usize, Change)>) -> Image {
        let mut disk = self.durable.clone();
        kept.into_iter().for_each(|(inode, change)| disk[inode].take(&change));
        Image(disk)
    }
}

/// How many changes may wait before not every choice among them is tried.
const ALL_CHOICES_MAX: usize = 6;

impl Double {
    pub(super) fn new(image: Image, plan: Plan) -> Self {
        let Image(inodes) = image;
        let (durable, waiting, calls) = (inodes.clone(), Vec::new(), Vec::new());
        Double(Rc::new(RefCell::new(World { durable, visible: inodes, waiting, calls, plan })))
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.0.borrow().calls.clone()
    }

    /// What another process finds if this one dies and the machine goes on.
    pub(super) fn survivor(&self) -> Double {
        let world = self.0.borrow();
        let World { durable, visible, waiting, .. } = &*world;
        let (durable, visible, waiting) = (durable.clone(), visible.clone(), waiting.clone());
        let (calls, plan) = (Vec::new(), Plan::default());
        Double(Rc::new(RefCell::new(World { durable, visible, waiting, calls, plan })))
    }

    /// What the disk holds if the machine dies and loses all that waits.
    pub(super) fn synced(&self) -> Image {
        self.0.borrow().image([])
    }

    /// What a disk may hold after the machine died: any choice of what waits (if it is a long list: a beginning of it, one
    /// alone, or all but one), and the last write torn at a byte or short of some sectors.
    pub(super) fn images(&self) -> Vec<Image> {
        let world = self.0.borrow();
        let count = world.waiting.len();
        let mut choices: Vec<Vec<bool>> = Vec::new();
        if count <= ALL_CHOICES_MAX {
            choices.extend((0..1_u32 << count).map(|bits| (0..count).map(|at| bits >> at & 1 == 1).collect()));
        } else {
            for chosen in 0..=count {
                choices.push((0..count).map(|at| at < chosen).collect());
                choices.push((0..count).map(|at| at == chosen).collect());
                choices.push((0..count).map(|at| at != chosen).collect());
            }
        }
        let pick = |choice: &Vec<bool>| {
            let kept = world.waiting.iter().zip(choice).filter(|(_, is_kept)| **is_kept);
            world.image(kept.map(|(change, _)| change.clone()))
        };
        let mut images: Vec<Image> = choices.iter().map(pick).collect();
        images.extend(torn(&world));
        images
    }

    /// The bytes of a file, to be damaged.
    pub(super) fn content(&self, path: &Path) -> Vec<u8> {
        let world = self.0.borrow();
        match &world.visible[world.find(path).expect("the file is there")] {
            Inode::File(content) => content.clone(),
            Inode::Dir(_) => panic!("{} is a directory", path.display()),
        }
    }

    /// The same disk with other bytes in a file.
    pub(super) fn with_content(&self, path: &Path, content: &[u8]) -> Double {
        let world = self.0.borrow();
        let mut inodes = world.visible.clone();
        inodes[world.find(path).expect("the file is there")] = Inode::File(content.to_vec());
        Double::new(Image(inodes), Plan::default())
    }

    /// The same disk with one more file.
    pub(super) fn with_file(&self, path: &Path, content: &[u8]) -> Double {
        let more = Double::new(Image(self.0.borrow().visible.clone()), Plan::default());
        more.create(path).expect("the file is not there");
        more.with_content(path, content)
    }

    /// The same disk with a file under another name.
    pub(super) fn with_name(&self, from: &Path, to: &Path) -> Double {
        let world = Double::new(Image(self.0.borrow().visible.clone()), Plan::default());
        world.rename(from, to).expect("the file is there");
        world
    }
}

/// The last write that waits, in pieces: alone, and with all that waits before it.
fn torn(world: &Ref<'_, World>) -> Vec<Image> {
    let Some(last) = world.waiting.iter().rposition(|(_, change)| matches!(change, Change::Bytes(..))) else {
        return Vec::new();
    };
    let (inode, Change::Bytes(offset, bytes)) = &world.waiting[last] else { unreachable!("it was just matched") };
    let mut images = Vec::new();
    for pieces in tears(*offset, bytes.len()) {
        let pieces =
            pieces.into_iter().map(|(from, to)| (*inode, Change::Bytes(offset + from, bytes[from..to].to_vec())));
        let pieces: Vec<_> = pieces.collect();
        images.push(world.image(pieces.iter().cloned()));
        images.push(world.image(world.waiting[..last].iter().cloned().chain(pieces)));
    }
    images
}

/// Which parts of a write reach the disk: up to some byte, and each choice, or many, of its sectors.
fn tears(offset: usize, length: usize) -> Vec<Vec<(usize, usize)>> {
    let mut bounds = vec![0];
    bounds.extend((1..length).filter(|at| (offset + at).is_multiple_of(512)));
    bounds.push(length);
    let near = bounds.iter().flat_map(|bound| [bound.saturating_sub(1), *bound, bound + 1]);
    let inner = [9, 44, 45, 46, length / 3, length / 2, length.saturating_sub(2)];
    let ends = near.chain(inner).filter(|end| *end <= length);
    let mut tears: Vec<Vec<(usize, usize)>> = ends.map(|end| vec![(0, end)]).collect();
    let sectors: Vec<(usize, usize)> = bounds.windows(2).map(|pair| (pair[0], pair[1])).collect();
    if sectors.len() <= ALL_CHOICES_MAX {
        let choose = |bits: u32| sectors.iter().enumerate().filter(move |(at, _)| bits >> at & 1 == 1);
        tears.extend((0..1_u32 << sectors.len()).map(|bits| choose(bits).map(|(_, sector)| *sector).collect()));
    } else {
        tears.extend(sectors.iter().map(|sector| vec![*sector]));
        tears.extend(sectors.iter().map(|lost| sectors.iter().filter(|sector| *sector != lost).copied().collect()));
    }
    tears
}

impl Fs for Double {
    /// Its inode.
    type File = usize;
    type Lock = ();

    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.all_or_nothing("make_dir", dir)?;
        match world.make(dir, Inode::Dir(BTreeMap::new())) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map(drop),
        }
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut world = self.0.borrow_mut();
        world.all_or_nothing("list", dir)?;
        Ok(world.visible[world.find(dir)?].names()?.keys().cloned().collect())
    }

    fn lock(&self, path: &Path) -> io::Result<Claim<()>> {
        self.0.borrow_mut().all_or_nothing("lock", path).map(Claim::Ours)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.borrow_mut().all_or_nothing("read", path)?;
        Ok(self.content(path))
    }

    fn create(&self, path: &Path) -> io::Result<usize> {
        let mut world = self.0.borrow_mut();
        world.all_or_nothing("create", path)?;
        world.make(path, Inode::File(Vec::new()))
    }

    fn write(&self, file: &usize, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let path = world.path_of(*file);
        let turn = world.turn("write", &path)?;
        let written = if let Turn::Fail(_) = turn { bytes.len() / 2 } else { bytes.len() };
        world.change(*file, Change::Bytes(offset as usize, bytes[..written].to_vec()));
        if let Turn::Fail(kind) = turn { Err(kind.into()) } else { Ok(()) }
    }

    fn sync(&self, file: &usize) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let path = world.path_of(*file);
        let turn = world.turn("sync", &path)?;
        world.sync(*file, &turn)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.all_or_nothing("rename", to)?;
        let ((parent, from_name), (_, to_name)) = (world.place(from)?, world.place(to)?);
        let inode = world.find(from)?;
        world.change(parent, Change::Renamed(from_name, to_name, inode));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        let turn = world.turn("sync_dir", dir)?;
        let inode = world.find(dir)?;
        world.sync(inode, &turn)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.all_or_nothing("remove", path)?;
        let (parent, name) = world.place(path)?;
        world.find(path)?;
        world.change(parent, Change::NoName(name));
        Ok(())
    }

    fn is_named(&self, file: &usize, path: &Path) -> io::Result<bool> {
        let mut world = self.0.borrow_mut();
        world.all_or_nothing("is_named", path)?;
        Ok(world.find(path).is_ok_and(|found| found == *file))
    }
}
